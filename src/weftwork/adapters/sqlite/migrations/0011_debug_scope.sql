-- Keys with all 19 scopes of earlier versions get the new scope runs:debug, so that they can still read everything. A
-- key with fewer scopes was restricted on purpose.
UPDATE keys SET scopes = json_insert(scopes, '$[#]', 'runs:debug')
WHERE 19 = (
  SELECT count(DISTINCT value) FROM json_each(keys.scopes) WHERE value IN (
    'manifest:read', 'manifest:write', 'runs:create', 'runs:read', 'runs:cancel', 'runs:delete', 'artifacts:read',
    'webhooks:manage', 'approvals:respond', 'approvals:delegate', 'approvals:override', 'packs:publish', 'packs:yank',
    'packs:yank-revert', 'audit:read', 'workspace:read', 'workspace:write', 'prompts:read', 'prompts:write'
  )
);
