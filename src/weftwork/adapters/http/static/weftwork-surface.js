/*
 * Renders a surface, a form that an agent wrote, into your page. It checks the surface again, builds elements without
 * markup or inline styles, and calls `onAction` once for one pressed button. It works under `trusted-types 'none'`. Only
 * connectSurface sends requests, and only to the origin of its `url`.
 */

// begin: constants, which `make docs` writes from the tables of the host
const COMPONENTS = {"heading":{"type":"object","required":["text"],"properties":{"text":{"type":"string"},"level":{"type":"integer","minimum":1,"maximum":6}}},"text":{"type":"object","required":["text"],"properties":{"text":{"type":"string"}}},"field.text":{"type":"object","required":["id","label"],"properties":{"id":{"type":"string"},"label":{"type":"string"},"placeholder":{"type":"string"},"required":{"type":"boolean"}}},"field.date":{"type":"object","required":["id","label"],"properties":{"id":{"type":"string"},"label":{"type":"string"},"required":{"type":"boolean"}}},"field.select":{"type":"object","required":["id","label","options"],"properties":{"id":{"type":"string"},"label":{"type":"string"},"required":{"type":"boolean"},"options":{"type":"array","minItems":1,"items":{"type":"object","required":["value","label"],"properties":{"value":{"type":"string"},"label":{"type":"string"}}}}}},"field.checkbox":{"type":"object","required":["id","label"],"properties":{"id":{"type":"string"},"label":{"type":"string"},"default":{"type":"boolean"}}},"action.button":{"type":"object","required":["id","label","action"],"properties":{"id":{"type":"string"},"label":{"type":"string"},"action":{"type":"object","required":["target"],"properties":{"target":{"type":"string","enum":["resume","exchange"]}}}}}};
const PAYLOAD = {"type":"object","required":["catalogVersion","surface"],"properties":{"reasoning":{"type":"string"},"catalogVersion":{"type":"string","enum":["0.9.1"]},"surface":{"type":"object","required":["components"],"properties":{"title":{"type":"string"},"components":{"type":"array"}}}}};
const MAX = {"components":200,"options":200,"allOptions":1000,"title":300,"label":500,"text":10000,"allText":50000,"optionValue":1000,"value":65536};
const RESERVED_FIELD_IDS = ["__proto__","action","constructor","prototype"];
const RESERVED_PREFIX = "openwop.";
const ID = /^[A-Za-z0-9_.:-]{1,128}$/;
const PATH_STEPS = [".",".."];
const DATE = /^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$/;
const HIDDEN = /[\u{0}-\u{8}\u{b}-\u{1f}\u{7f}-\u{9f}\u{ad}\u{34f}\u{61c}\u{115f}\u{1160}\u{17b4}\u{17b5}\u{180b}-\u{180f}\u{200b}\u{200e}\u{200f}\u{2028}-\u{202e}\u{2060}-\u{206f}\u{3164}\u{feff}\u{ffa0}\u{fff0}-\u{ffff}\u{d800}-\u{dfff}\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;
// end: constants

/** Every text that this module writes. Pass `messages` with your own; `{name}` is replaced. */
export const MESSAGES = {
  lang: "en",
  dir: "ltr",
  origin: "Form from {origin}",
  unknownOrigin: "Form from a workflow",
  trusted: "Contains only content from trusted sources.",
  untrusted: "Contains content from an untrusted source. Check it before you answer.",
  end: "End of the form",
  title: "Form",
  required: "(required)",
  choose: "Choose one",
  noAnswer: "No answer",
  problems: "Not sent yet. Please correct this and press the button again:",
  missing: "This field must be filled in.",
  badDate: "Enter a complete date.",
  tooLong: "Enter {limit} or fewer characters.",
  unknown: "A part of this form cannot be shown here ({type}).",
  incomplete: "You cannot answer here, because a part of this form cannot be shown.",
  partial: "This form is still arriving. You can answer when it is complete.",
  blocked: "You cannot answer with this form. {reason}",
  reported: "You cannot answer with this form, because the host reports errors in it.",
  notOffered: "The host does not offer this button.",
  preview: "This is a preview. Its buttons do not work.",
  sending: "Sending…",
  sent: "Your answer was recorded.",
  answered: "This form was already answered.",
  cancelled: "This form was withdrawn.",
  expired: "The deadline of this form has passed.",
  closed: "This form is closed.",
  shown: "",
  stored: "This form is stored, but it is not shown, because it is not valid.",
  raw: "Show the stored data",
  cut: " […]",
  loading: "Loading the form…",
  unloaded: "The form could not be loaded.",
  retry: "Try again",
  unreachable: "The host did not answer. Your answer may not have been recorded. Press the button again.",
  refused: "The host did not accept the answer.",
};

/** The stylesheet. It is adopted by the document (no inline style); pass `styles: false` to use only your own. */
export const STYLES = `
.wfs{--_ink:var(--wfs-ink,light-dark(#14181f,#eceff4));--_soft:var(--wfs-soft,light-dark(#4a5361,#b0b8c5));
--_ground:var(--wfs-ground,light-dark(#fff,#191d24));--_line:var(--wfs-line,light-dark(#d3d8df,#363d49));
--_edge:var(--wfs-edge,light-dark(#6b7482,#8b95a5));--_accent:var(--wfs-accent,light-dark(#1749b8,#9dbcff));
--_error:var(--wfs-error,light-dark(#ad1f17,#ff9d94));--_warn:var(--wfs-warn,light-dark(#7a4f00,#e0b45c));
--_radius:var(--wfs-radius,.5rem);--_gap:var(--wfs-gap,1rem);
box-sizing:border-box;max-width:44rem;border:1px solid var(--_line);border-radius:var(--_radius);padding:var(--_gap);
background:var(--_ground);color:var(--_ink);font:var(--wfs-font,1rem/1.5 system-ui,sans-serif);
overflow-wrap:anywhere;text-align:start}
.wfs *{box-sizing:border-box}
.wfs p{margin:.5rem 0}
.wfs-frame,.wfs-end{color:var(--_soft);font-size:.875rem}
.wfs-frame{border-bottom:1px solid var(--_line);margin-bottom:var(--_gap)}
.wfs-frame>p:first-child{margin-top:0;font-weight:600}
.wfs .wfs-end{border-top:1px solid var(--_line);margin:var(--_gap) 0 0;padding-top:.5rem}
.wfs[data-trust=untrusted] .wfs-trust{color:var(--_warn);font-weight:600}
.wfs[data-trust=untrusted]{border-inline-start:.375rem solid var(--_warn)}
.wfs-body{overflow:hidden;contain:paint;isolation:isolate;margin:0 -.25rem;padding:.25rem}
.wfs-body>:is(h1,h2,h3,h4,h5,h6){margin:1.25rem 0 .25rem;line-height:1.3;font-size:1.0625rem;white-space:pre-wrap}
.wfs-body>.wfs-title{margin-top:0;font-size:1.25rem}
.wfs-text{white-space:pre-wrap}
.wfs-field{margin:0 0 1.125rem}
.wfs-label{display:block;font-weight:600;margin:0 0 .25rem;white-space:pre-wrap}
.wfs-required{color:var(--_soft);font-weight:400}
.wfs-field>:is(input,select):not([type=checkbox]){display:block;width:100%;max-width:100%;min-height:2.75rem;
padding:.5rem .75rem;font:inherit;color:inherit;background:var(--_ground);border:1px solid var(--_edge);
border-radius:var(--_radius)}
.wfs-check{display:grid;grid-template-columns:auto 1fr;align-items:center;gap:0 .75rem}
.wfs-check>input{width:1.375rem;height:1.375rem;margin:0;accent-color:var(--_accent)}
.wfs-check>.wfs-label{margin:0;padding:.5rem 0}
.wfs-check>.wfs-error{grid-column:1/-1}
.wfs [aria-invalid=true]{outline:2px solid var(--_error);outline-offset:-1px}
.wfs-error{color:var(--_error);font-weight:600}
.wfs-errors:not(:empty){border:2px solid var(--_error);border-radius:var(--_radius);padding:.25rem 1rem;margin:0 0 1rem}
.wfs-errors a{color:inherit}
.wfs-status:not(:empty){border-inline-start:.25rem solid var(--_edge);padding:.25rem .75rem;margin:0 0 1rem}
.wfs-action{display:inline-block;vertical-align:top;max-width:100%;margin:.25rem .75rem .5rem 0}
.wfs button{font:inherit;font-weight:600;max-width:100%;min-height:2.75rem;min-width:6rem;padding:.5rem 1.25rem;
color:var(--_accent);background:transparent;border:2px solid currentColor;border-radius:var(--_radius);cursor:pointer;
white-space:pre-wrap;overflow-wrap:anywhere}
.wfs button:is(:disabled,[aria-disabled=true]){color:var(--_soft);border-style:dashed;cursor:default}
.wfs-reason{color:var(--_soft);font-size:.875rem}
.wfs-unknown,.wfs-diagnostics{border-inline-start:.25rem solid var(--_warn);padding:.25rem .75rem}
.wfs pre{white-space:pre-wrap;max-height:24rem;overflow:auto;font-size:.875rem}
.wfs :focus-visible{outline:3px solid var(--_accent);outline-offset:2px}
.wfs [hidden]{display:none}
@media (forced-colors:active){.wfs button:disabled{color:GrayText}}
`;

/** An error that a host sent. Throw one from `onAction` to show a message and errors at the fields. */
export class SurfaceError extends Error {
  constructor(message, { code = "", status = 0, violations = [] } = {}) {
    super(message);
    this.name = "SurfaceError";
    this.code = code;
    this.status = status;
    this.violations = Array.isArray(violations) ? violations : [];
  }
}

const CLOSED_BY_CODE = {
  interrupt_already_resolved: "answered",
  interrupt_expired: "expired",
  interrupt_not_found: "closed",
  not_found: "closed",
};
const STATUSES = ["answered", "cancelled", "expired", "shown"];
const FAULTS_SHOWN = 20;
const RAW_SHOWN = 50000;
const REMEMBERED = new WeakMap();
let surfaces = 0;

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const isAbsent = (value) => value === undefined || value === null;
const textOf = (value) => (typeof value === "string" ? value : "");
const isLonger = (text, limit) => text.length > limit && (text.length > 2 * limit || [...text].length > limit);

/** The text with characters that hide or reorder text as marks such as ⟦U+202E⟧. */
const visible = (text) =>
  text
    .replaceAll("\r\n", "\n")
    .replace(HIDDEN, (found) => `⟦U+${found.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟧`);

const fill = (message, values) =>
  message.replace(/\{(\w+)\}/g, (found, name) => (Object.hasOwn(values, name) ? values[name] : found));

function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((each) => each !== undefined && each !== ""));
  return node;
}

/* ---- Check: the closed schema, and the limits of the host ---- */

const TYPES = {
  string: (value) => typeof value === "string",
  boolean: (value) => typeof value === "boolean",
  integer: (value) => Number.isInteger(value),
  array: (value) => Array.isArray(value),
  object: isObject,
};

/** Checks a value against the part of JSON Schema that the tables use. A fault names the place and the broken rule. */
function checkValue(schema, value, pointer, faults) {
  const fault = (message) => faults.push({ pointer, message });
  if (schema.type && !TYPES[schema.type](value)) return fault("type");
  if (schema.enum && !schema.enum.includes(value)) return fault("enum");
  if (schema.type === "integer" && (value < schema.minimum || value > schema.maximum)) return fault("range");
  if (Array.isArray(value)) {
    if (value.length < schema.minItems) fault("minItems");
    if (schema.items) value.forEach((each, n) => checkValue(schema.items, each, `${pointer}/${n}`, faults));
  } else if (isObject(value) && schema.properties) {
    for (const name of schema.required ?? []) if (!Object.hasOwn(value, name)) fault(`required: ${name}`);
    for (const name of Object.keys(value)) {
      if (!Object.hasOwn(schema.properties, name)) fault("additionalProperties");
      else checkValue(schema.properties[name], value[name], `${pointer}/${name}`, faults);
    }
  }
}

function checkComponent(component, at, seen, faults) {
  const { component: type, ...members } = component;
  const before = faults.length;
  checkValue(COMPONENTS[type], members, at, faults);
  if (faults.length > before) return;
  const fault = (place, message) => faults.push({ pointer: at + place, message });
  for (const [name, limit] of [["text", MAX.text], ["label", MAX.label], ["placeholder", MAX.label]]) {
    if (isLonger(component[name] ?? "", limit)) fault(`/${name}`, "maxLength");
  }
  const id = component.id;
  if (id !== undefined) {
    if (!ID.test(id) || PATH_STEPS.includes(id)) fault("/id", "pattern");
    else if (seen.has(id)) fault("/id", "unique");
    else if (isField(component) && (RESERVED_FIELD_IDS.includes(id) || id.startsWith(RESERVED_PREFIX))) fault("/id", "reserved");
    seen.add(id);
  }
  const options = component.options ?? [];
  if (options.length > MAX.options) fault("/options", "maxItems");
  if (options.some((each) => isLonger(each.value, MAX.optionValue) || isLonger(each.label, MAX.label))) fault("/options", "maxLength");
  if (new Set(options.map((each) => each.value)).size < options.length) fault("/options", "unique");
}

const isField = (component) => component.component.startsWith("field.");
const isComponent = (value) => isObject(value) && typeof value.component === "string";
const isUnknown = (component) => !Object.hasOwn(COMPONENTS, component.component);
const textLength = (component) =>
  [component.text, component.label, component.placeholder, ...(component.options ?? []).flatMap((each) => [each.value, each.label])]
    .reduce((total, text) => total + (text === undefined ? 0 : [...text].length), 0);

/** The components that can be shown, and the faults. While a surface is partial, what is not valid yet is left out. */
function examine(payload, isPartial) {
  const faults = [];
  const shown = [];
  checkValue(isPartial ? { type: "object" } : PAYLOAD, payload, "", faults);
  const components = Array.isArray(payload?.surface?.components) ? payload.surface.components : [];
  const title = textOf(payload?.surface?.title);
  const at = "/surface/components";
  const fault = (pointer, message) => faults.push({ pointer, message });
  if (isLonger(title, MAX.title)) fault("/surface/title", "maxLength");
  if (components.length > MAX.components) {
    fault(at, "maxItems");
    return { faults, shown, title };
  }
  const seen = new Set();
  let options = 0;
  let total = [...title].length;
  for (const [n, component] of components.entries()) {
    const before = faults.length;
    if (!isComponent(component)) fault(`${at}/${n}`, "type");
    else if (!isUnknown(component)) checkComponent(component, `${at}/${n}`, seen, faults);
    if (faults.length > before) {
      if (isPartial) faults.length = before;
      continue;
    }
    shown.push(component);
    if (isUnknown(component)) continue;
    options += component.options?.length ?? 0;
    total += textLength(component);
  }
  if (options > MAX.allOptions) fault(at, "options");
  if (total > MAX.allText) fault("/surface", "size");
  return { faults, shown, title };
}

/** Why a payload is not a surface that this module renders completely: a list of {pointer, message}, empty if it is. */
export function checkSurface(payload) {
  const { faults, shown } = examine(payload, false);
  return [...faults, ...shown.filter(isUnknown).map(() => ({ pointer: "/surface/components", message: "enum" }))];
}

/* ---- One entry for each type of component ---- */

/** A labelled control, with its error and its value. `read` returns undefined if nothing was entered. */
function labelled(form, control, component, read, problem = () => "", change = () => {}) {
  const id = form.newId();
  control.id = id;
  const label = make("label", { class: "wfs-label", for: id, dir: "auto" });
  const error = make("p", { class: "wfs-error", id: `${id}-error`, hidden: true });
  const isCheckbox = control.type === "checkbox";
  const node = make("div", { class: isCheckbox ? "wfs-field wfs-check" : "wfs-field" }, ...(isCheckbox ? [control, label] : [label, control]), error);
  const entry = {
    node,
    control,
    update(next) {
      change(next, entry.component);
      entry.component = next;
      label.replaceChildren(visible(next.label));
      if (next.required) label.append(" ", make("span", { class: "wfs-required" }, form.messages.required));
      control.required = next.required === true;
      return true;
    },
    read,
    problem() {
      const found = problem();
      return found || (entry.component.required && read() === undefined ? form.messages.missing : "");
    },
    showError(text) {
      error.replaceChildren(visible(text));
      error.hidden = !text;
      for (const [name, value] of [["aria-invalid", "true"], ["aria-describedby", error.id]]) {
        if (text) control.setAttribute(name, value);
        else control.removeAttribute(name);
      }
    },
    lock(isLocked) {
      if (control.type === "text" || control.type === "date") control.readOnly = isLocked;
      else control.disabled = isLocked;
    },
  };
  entry.update(component);
  return entry;
}

function textBlock(node, component) {
  const entry = { node, update: (next) => (node.replaceChildren(visible(next.text)), true) };
  entry.update(component);
  return entry;
}

const RENDERERS = {
  heading(form, component, level) {
    const entry = textBlock(make(`h${level}`, { class: "wfs-heading", dir: "auto" }), component);
    const write = entry.update;
    // Another level is another element.
    entry.update = (next, nextLevel) => nextLevel === level && write(next);
    return entry;
  },
  text: (form, component) => textBlock(make("p", { class: "wfs-text", dir: "auto" }), component),
  "field.text"(form, component) {
    const control = make("input", { type: "text", dir: "auto", autocomplete: "off" });
    const read = () => (control.value.trim() ? control.value : undefined);
    const problem = () => (isLonger(control.value, MAX.value) ? fill(form.messages.tooLong, { limit: String(MAX.value) }) : "");
    return labelled(form, control, component, read, problem, (next) => {
      control.placeholder = visible(next.placeholder ?? "");
    });
  },
  "field.date"(form, component) {
    const control = make("input", { type: "date", max: "9999-12-31", autocomplete: "off" });
    const problem = () => (control.validity.badInput || (control.value && !DATE.test(control.value)) ? form.messages.badDate : "");
    return labelled(form, control, component, () => control.value || undefined, problem);
  },
  "field.select"(form, component) {
    const control = make("select", { autocomplete: "off" });
    let options = [];
    // The value of an element is its place in the list, so that no option collides with the empty one.
    const read = () => options[control.selectedIndex - 1]?.value;
    return labelled(form, control, component, read, undefined, (next, shown) => {
      if (JSON.stringify([shown?.options, shown?.required]) === JSON.stringify([next.options, next.required])) return;
      const chosen = read();
      options = next.options;
      const first = next.required ? form.messages.choose : form.messages.noAnswer;
      control.replaceChildren(make("option", { value: "" }, first), ...options.map((each, n) => make("option", { value: String(n), dir: "auto" }, visible(each.label))));
      control.selectedIndex = chosen === undefined ? 0 : options.findIndex((each) => each.value === chosen) + 1;
    });
  },
  "field.checkbox"(form, component) {
    const control = make("input", { type: "checkbox" });
    control.checked = component.default === true;
    return labelled(form, control, component, () => control.checked);
  },
  "action.button"(form, component) {
    const button = make("button", { type: "button", dir: "auto" });
    const reason = make("span", { class: "wfs-reason", id: form.newId() });
    const node = make("div", { class: "wfs-action" }, button, reason);
    const entry = {
      node,
      button,
      update(next) {
        entry.component = next;
        button.replaceChildren(visible(next.label));
        return true;
      },
      /** `why` is the reason why this button does not work; undefined if it works. `effect` is what it then decides. */
      disable(why, isShown, effect) {
        const note = why ?? effect;
        button.disabled = why !== undefined;
        reason.replaceChildren(isShown && note ? ` ${visible(note)}` : "");
        if (isShown && note) button.setAttribute("aria-describedby", reason.id);
        else button.removeAttribute("aria-describedby");
      },
    };
    entry.update(component);
    return entry;
  },
};

function unknownPart(form, component) {
  const type = isLonger(component.component, 64) ? "?" : visible(component.component);
  return { node: make("p", { class: "wfs-unknown" }, fill(form.messages.unknown, { type })), update: () => true };
}

/* ---- The form ---- */

class Form {
  constructor(element, options) {
    this.element = element;
    this.options = options;
    this.messages = { ...MESSAGES, ...options.messages };
    this.prefix = `wfs-${++surfaces}-`;
    this.ids = 0;
    this.entries = new Map();
    this.isSending = false;
    this.listening = new AbortController();
    this.root = make("section", { class: "wfs", lang: this.messages.lang, dir: this.messages.dir });
    this.origin = make("p");
    this.trust = make("p", { class: "wfs-trust" });
    this.errors = make("div", { class: "wfs-errors", role: "alert", tabindex: "-1" });
    this.status = make("div", { class: "wfs-status", role: "status", tabindex: "-1" });
    const level = Math.min(Math.max(Number(options.headingLevel) || 3, 1), 6);
    this.level = level;
    this.title = make(`h${level}`, { class: "wfs-title", id: this.newId(), dir: "auto" });
    this.body = make("div", { class: "wfs-body", lang: options.contentLang ?? "" }, this.title);
    this.root.setAttribute("aria-labelledby", this.title.id);
    this.root.append(make("div", { class: "wfs-frame" }, this.origin, this.trust), this.status, this.errors, this.body, make("p", { class: "wfs-end" }, this.messages.end));
    const signal = this.listening.signal;
    this.root.addEventListener("click", (event) => this.onClick(event), { signal });
    this.root.addEventListener("keydown", (event) => this.onKey(event), { signal });
    this.root.addEventListener("input", (event) => this.entryOf(event.target)?.showError?.(""), { signal });
    this.sheet = options.styles === false ? undefined : adoptStyles(element);
    element.replaceChildren(this.root);
  }

  newId() {
    return `${this.prefix}${++this.ids}`;
  }

  entryOf(node) {
    return [...this.entries.values()].find((entry) => entry.control === node || entry.button === node);
  }

  get fields() {
    return [...this.entries.values()].filter((entry) => entry.control);
  }

  /** Shows a view. What a person typed stays, as long as the surface is the same one. */
  update(next) {
    if (this.isDestroyed) return;
    let view;
    try {
      view = structuredClone(next);
    } catch {
      view = {};
    }
    view = isObject(view) ? view : {};
    const payload = view.payload;
    // A partial surface has no id yet; the recorded one of the same node completes it.
    const isCompleted = this.isPartial && textOf(view.nodeId) !== "" && this.view.nodeId === view.nodeId;
    if ((this.view?.surfaceId !== view.surfaceId && !isCompleted) || this.isNotice) this.clear();
    this.view = view;
    this.isPartial = isPartial(view.partial) || (isObject(payload) && isPartial(payload.partial));
    const wire = isObject(payload) ? { ...payload } : payload;
    delete wire?.partial;
    const { faults, shown, title } = examine(wire, this.isPartial);
    const reported = Array.isArray(view.diagnostics) ? view.diagnostics : [];
    this.drawFrame();
    // The host has no data of a form that it derived itself once its question is closed.
    if (isAbsent(payload) && STATUSES.includes(view.status)) return this.showNotice(this.messages[view.status], "closed");
    if (view.render === false || faults.length) {
      return this.showStored(payload, [...reported, ...faults]);
    }
    this.isReported = reported.length > 0;
    this.title.replaceChildren(visible(title) || this.messages.title);
    this.draw(shown);
    this.refresh();
  }

  drawFrame() {
    const origin = this.options.origin;
    const isTrusted = this.view.contentTrust === "trusted";
    this.root.dataset.trust = isTrusted ? "trusted" : "untrusted";
    this.origin.replaceChildren(origin ? fill(this.messages.origin, { origin: visible(String(origin)) }) : this.messages.unknownOrigin);
    this.trust.replaceChildren(isTrusted ? this.messages.trusted : this.messages.untrusted);
  }

  /** Reuses the elements of components that are still there, so that values, focus and selection stay. */
  draw(components) {
    const focused = document.activeElement;
    const levels = headingLevels(components, this.level);
    const kept = new Map();
    const counts = new Map();
    this.hasUnknown = components.some(isUnknown);
    let last = this.title;
    for (const [n, component] of components.entries()) {
      const type = component.component;
      const count = (counts.get(type) ?? 0) + 1;
      counts.set(type, count);
      const key = JSON.stringify([type, component.id ?? count]);
      let entry = this.entries.get(key);
      if (!entry?.update(component, levels[n])) {
        entry?.node.remove();
        entry = Object.hasOwn(RENDERERS, type) ? RENDERERS[type](this, component, levels[n]) : unknownPart(this, component);
      }
      kept.set(key, entry);
      if (last.nextSibling !== entry.node) last.after(entry.node);
      last = entry.node;
    }
    for (const [key, entry] of this.entries) if (kept.get(key) !== entry) entry.node.remove();
    this.entries = kept;
    if (focused !== document.activeElement && this.root.contains(focused)) focused.focus();
  }

  /** Why no button works, as the name of a state and a text; undefined if buttons can work. */
  deadness() {
    const { view, messages } = this;
    if (this.sent) return ["sent", messages.sent];
    if (this.closed) return ["closed", this.closed];
    if (this.isPartial) return ["partial", messages.partial];
    if (view.status !== "open") return ["closed", STATUSES.includes(view.status) ? messages[view.status] : messages.closed];
    const reason = visible(textOf(view.blockedReason));
    if (reason) return ["blocked", fill(messages.blocked, { reason })];
    if (this.isReported) return ["blocked", messages.reported];
    if (this.hasUnknown) return ["blocked", messages.incomplete];
    if (typeof this.options.onAction !== "function") return ["preview", messages.preview];
    return undefined;
  }

  offered(component) {
    return Array.isArray(this.view.actions) ? this.view.actions.find((each) => isObject(each) && each.id === component.id) : undefined;
  }

  /** Why this button does not work; undefined if it does. */
  inertness(component) {
    const offered = this.offered(component);
    if (!offered || offered.target !== component.action.target) return this.messages.notOffered;
    return textOf(offered.disabledReason) || undefined;
  }

  refresh() {
    const dead = this.deadness();
    const [state, text] = dead ?? (this.isSending ? ["sending", this.messages.sending] : ["open", ""]);
    this.root.dataset.state = state;
    this.root.setAttribute("aria-busy", String(state === "partial" || state === "sending"));
    if (this.status.textContent !== text) this.status.replaceChildren(...(text ? [make("p", {}, text)] : []));
    for (const entry of this.entries.values()) {
      if (entry.button) {
        const inert = dead ? undefined : this.inertness(entry.component);
        entry.disable(dead ? "" : inert, !dead, textOf(this.offered(entry.component)?.effect));
        entry.button.setAttribute("aria-disabled", String(Boolean(dead) || inert !== undefined || this.isSending));
      }
      entry.lock?.(Boolean(dead) && state !== "partial");
    }
  }

  onClick(event) {
    const link = event.target.closest("a[data-field]");
    if (link) {
      event.preventDefault();
      this.fields.find((entry) => entry.control.id === link.dataset.field)?.control.focus();
      return;
    }
    const button = event.target.closest("button");
    const entry = button && this.entryOf(button);
    if (entry) this.press(entry);
  }

  /** Enter in a field presses the only button. With several, it presses none, and it never submits a form around. */
  onKey(event) {
    if (event.key !== "Enter" || event.isComposing || event.target.tagName !== "INPUT") return;
    event.preventDefault();
    const buttons = [...this.entries.values()].filter((entry) => entry.button);
    if (buttons.length === 1) this.press(buttons[0]);
  }

  async press(entry) {
    // Checked here as well, because the attribute of an element can be changed from outside.
    if (this.isSending || this.isDestroyed || this.deadness() || this.inertness(entry.component) !== undefined) return;
    const values = new Map();
    const problems = [];
    for (const field of this.fields) {
      const problem = field.problem();
      const value = field.read();
      field.showError(problem);
      if (problem) problems.push([field, problem]);
      else if (value !== undefined) values.set(field.component.id, value);
    }
    this.errors.replaceChildren();
    if (problems.length) return this.showProblems(problems);
    const { id, action } = entry.component;
    const surfaceId = this.view.surfaceId;
    this.isSending = true;
    this.refresh();
    let error;
    try {
      await this.options.onAction(id, Object.fromEntries(values), Object.freeze({ surfaceId, target: action.target }));
    } catch (thrown) {
      error = thrown;
    }
    this.isSending = false;
    if (this.isDestroyed || this.view.surfaceId !== surfaceId) {
      if (!this.isDestroyed && !this.isNotice) this.refresh();
      return;
    }
    if (error === undefined) {
      this.sent = true;
      this.refresh();
      this.status.focus();
    } else {
      this.showFault(error);
    }
  }

  showFault(error) {
    const code = textOf(error?.code);
    if (Object.hasOwn(CLOSED_BY_CODE, code)) {
      this.closed = this.messages[CLOSED_BY_CODE[code]];
      this.refresh();
      this.status.focus();
      return;
    }
    this.refresh();
    const violations = Array.isArray(error?.violations) ? error.violations.filter(isObject).slice(0, FAULTS_SHOWN) : [];
    const problems = violations.map((each) => [this.fieldOf(each), textOf(each.message) || this.messages.refused]);
    this.showProblems(problems.length ? problems : [[undefined, (error instanceof Error && error.message) || this.messages.refused]]);
  }

  /** The field of a violation, by its id or by the JSON pointer. */
  fieldOf(violation) {
    const names = [violation.field, ...textOf(violation.pointer).split("/").slice(2).map((each) => each.replaceAll("~1", "/").replaceAll("~0", "~"))];
    return this.fields.find((entry) => names.includes(entry.component.id));
  }

  /** Shows errors at their fields and in a list, and moves the focus to the first field, or to the list. */
  showProblems(problems) {
    const rows = problems.map(([field, text]) => {
      if (!field) return make("li", {}, visible(text));
      field.showError(text);
      const link = make("a", { href: `#${field.control.id}`, "data-field": field.control.id }, visible(field.component.label));
      return make("li", {}, link, `: ${visible(text)}`);
    });
    this.errors.replaceChildren(make("p", {}, this.messages.problems), make("ul", {}, ...rows));
    const first = problems.find(([field]) => field);
    (first ? first[0].control : this.errors).focus();
  }

  /** "Stored, not rendered": what is wrong, and the stored data as text. The model's reasoning is not shown. */
  showStored(payload, faults) {
    this.clear();
    this.isNotice = true;
    this.root.dataset.state = "invalid";
    const rows = faults.slice(0, FAULTS_SHOWN).map((each) => make("li", {}, visible(isObject(each) ? `${textOf(each.pointer)}: ${textOf(each.message)}` : textOf(each))));
    let raw = "";
    try {
      raw = JSON.stringify(isObject(payload) ? { ...payload, reasoning: undefined } : payload, null, 2) ?? "";
    } catch {
      // Too deeply nested to be written.
    }
    const text = raw.length > RAW_SHOWN ? raw.slice(0, RAW_SHOWN) + this.messages.cut : raw;
    this.title.replaceChildren(this.messages.title);
    this.body.append(
      make("div", { class: "wfs-diagnostics" }, make("p", {}, visible(textOf(this.view.blockedReason)) || this.messages.stored), rows.length ? make("ul", {}, ...rows) : ""),
      make("details", {}, make("summary", {}, this.messages.raw), make("pre", { tabindex: "0", dir: "ltr" }, visible(text))),
    );
  }

  /** A text instead of a form, with a button if it can be retried. */
  showNotice(text, state, retry) {
    if (this.isDestroyed) return;
    this.clear();
    this.isNotice = true;
    this.root.dataset.state = state;
    this.root.setAttribute("aria-busy", String(state === "loading"));
    this.title.replaceChildren(this.messages.title);
    this.status.replaceChildren(make("p", {}, visible(text)));
    if (retry) {
      const button = make("button", { type: "button" }, this.messages.retry);
      button.addEventListener("click", retry, { signal: this.listening.signal, once: true });
      this.body.append(make("div", { class: "wfs-action" }, button));
    }
  }

  clear() {
    this.entries = new Map();
    this.sent = false;
    this.closed = undefined;
    this.isNotice = false;
    this.isReported = false;
    this.hasUnknown = false;
    this.body.replaceChildren(this.title);
    this.errors.replaceChildren();
    this.status.replaceChildren();
    this.root.setAttribute("aria-busy", "false");
  }

  destroy() {
    if (this.isDestroyed) return;
    this.isDestroyed = true;
    this.listening.abort();
    this.root.remove();
    this.entries = new Map();
    if (this.sheet) releaseStyles(this.sheet);
    if (REMEMBERED.get(this.element) === this) REMEMBERED.delete(this.element);
  }
}

/** A final surface has no `partial`, or false, or an object that says so. Anything else is partial. */
const isPartial = (value) => !(isAbsent(value) || value === false || (isObject(value) && value.isPartial === false));

/** The level of each heading: below that of the title, without gaps, whatever levels the surface has. */
function headingLevels(components, top) {
  const levels = components.map((each) => (each.component === "heading" ? each.level ?? 2 : undefined));
  const ranks = [...new Set(levels.filter((each) => each !== undefined))].sort((a, b) => a - b);
  let last = 0;
  return levels.map((each) => {
    if (each === undefined) return undefined;
    last = Math.min(ranks.indexOf(each) + 1, last + 1);
    return Math.min(top + last, 6);
  });
}

const SHEETS = new WeakMap();

/** One constructed stylesheet per document or shadow root, as long as a surface in it uses it. */
function adoptStyles(element) {
  const root = element.getRootNode();
  const scope = root.adoptedStyleSheets ? root : document;
  const used = SHEETS.get(scope) ?? { scope, count: 0, sheet: new CSSStyleSheet() };
  if (used.count++ === 0) {
    used.sheet.replaceSync(STYLES);
    scope.adoptedStyleSheets = [...scope.adoptedStyleSheets, used.sheet];
  }
  SHEETS.set(scope, used);
  return used;
}

function releaseStyles(used) {
  if (--used.count > 0) return;
  used.scope.adoptedStyleSheets = used.scope.adoptedStyleSheets.filter((each) => each !== used.sheet);
  SHEETS.delete(used.scope);
}

function newForm(element, options) {
  REMEMBERED.get(element)?.destroy();
  const form = new Form(element, options);
  REMEMBERED.set(element, form);
  return form;
}

/** Renders `view`, the JSON of a surface, as the only content of `element`. Returns {update(view), destroy()}. */
export function renderSurface(element, view, options = {}) {
  const form = newForm(element, options);
  form.update(view);
  return Object.freeze({ update: (next) => form.update(next), destroy: () => form.destroy() });
}

/**
 * Fetches the view from `options.url`, renders it, and posts the pressed action to the same origin. Returns
 * {ready, update(view), reload(), destroy()}; `ready` is fulfilled when the first load has ended.
 */
export function connectSurface(element, options) {
  const base = new URL(options.url, document.baseURI);
  if (!["http:", "https:"].includes(base.protocol)) throw new TypeError("The url must begin with http: or https:.");
  const send = options.fetch ?? ((...request) => globalThis.fetch(...request));
  const stopped = new AbortController();
  let attempt = {};

  function actionAddress(actionId) {
    const address = new URL(options.actionUrl ? options.actionUrl(actionId) : base, base);
    if (address.origin !== base.origin) throw new TypeError("An action must have the origin of the url.");
    if (!options.actionUrl) {
      const path = base.pathname.replace(/(\/interrupts\/[^/]+)\/surface$/, "$1");
      address.pathname = `${path}/actions/${encodeURIComponent(actionId)}`;
    }
    return address;
  }

  async function request(address, more) {
    const given = typeof options.headers === "function" ? await options.headers() : options.headers;
    const response = await send(address.href, {
      credentials: "same-origin",
      redirect: "error",
      referrerPolicy: "no-referrer",
      cache: "no-store",
      ...more,
      headers: { ...given, Accept: "application/json", ...more.headers },
    });
    let found;
    try {
      found = JSON.parse(await response.text());
    } catch {
      // Not from a host, such as an error page of a proxy.
    }
    if (response.ok && isObject(found)) return found;
    found = isObject(found) ? found : {};
    const { violations, pointer, field } = isObject(found.details) ? found.details : {};
    throw new SurfaceError(textOf(found.message) || form.messages.refused, {
      code: textOf(found.error),
      status: response.status,
      violations: violations ?? (pointer ? [{ pointer, field, message: found.message }] : []),
    });
  }

  async function onAction(actionId, values) {
    const body = JSON.stringify({ values });
    const address = actionAddress(actionId);
    // A repeated attempt has the same key, so that an answer that arrived the first time counts once.
    if (attempt.href !== address.href || attempt.body !== body) attempt = { href: address.href, body, key: newKey() };
    let result;
    try {
      result = await request(address, { method: "POST", body, headers: { "Content-Type": "application/json", "Idempotency-Key": attempt.key } });
    } catch (error) {
      options.onError?.(error);
      if (error instanceof SurfaceError) {
        if (error.status < 500) attempt = {};
        throw error;
      }
      throw new SurfaceError(form.messages.unreachable);
    }
    attempt = {};
    options.onAnswered?.(result, { actionId });
  }

  async function load() {
    form.showNotice(form.messages.loading, "loading");
    try {
      const view = await request(base, { signal: stopped.signal });
      form.update(view);
    } catch (error) {
      if (stopped.signal.aborted) return;
      options.onError?.(error);
      const about = error instanceof SurfaceError ? ` ${error.message}` : "";
      form.showNotice(form.messages.unloaded + about, "failed", load);
    }
  }

  const { messages, origin = base.host, contentLang, headingLevel, styles } = options;
  const form = newForm(element, { messages, origin, contentLang, headingLevel, styles, onAction });
  return Object.freeze({
    ready: load(),
    update: (next) => form.update(next),
    reload: load,
    destroy() {
      stopped.abort();
      form.destroy();
    },
  });
}

// crypto.randomUUID exists only on pages of https.
const newKey = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (each) => each.toString(16).padStart(2, "0")).join("");
