// Shows A2UI messages with the official renderers. The tests call the functions below `window`.
import {ContextProvider} from '@lit/context';
import {basicCatalog as litCatalog, Context} from '@a2ui/lit/v0_9';
import {renderMarkdown} from '@a2ui/markdown-it';
import {A2uiSurface, basicCatalog as reactCatalog, MarkdownContext} from '@a2ui/react/v0_9';
import {MessageProcessor} from '@a2ui/web_core/v0_9';
import {createElement} from 'react';
import {createRoot} from 'react-dom/client';

const CATALOGS = {lit: litCatalog, react: reactCatalog};
let processor;

/** Shows the surface of the messages, and collects the actions of its buttons in `window.actions`. */
window.show = (renderer, messages) => {
  window.actions = [];
  processor = new MessageProcessor([CATALOGS[renderer]], (action) => window.actions.push(action));
  processor.processMessages(messages);
  const [surface] = processor.model.surfacesMap.values();
  const frame = document.createElement('main');
  document.body.replaceChildren(frame);
  if (renderer === 'lit') {
    new ContextProvider(frame, {context: Context.markdown, initialValue: renderMarkdown});
    const element = document.createElement('a2ui-surface');
    element.surface = surface;
    frame.append(element);
  } else {
    const child = createElement(A2uiSurface, {surface});
    createRoot(frame).render(createElement(MarkdownContext.Provider, {value: renderMarkdown}, child));
  }
};

/** Sends more messages to the surface that is shown. */
window.update = (messages) => processor.processMessages(messages);

/** All elements that match, also in shadow trees, in document order. */
window.all = (selector, root = document) =>
  [...root.querySelectorAll('*')].flatMap((each) => [
    ...(each.matches(selector) ? [each] : []),
    ...(each.shadowRoot ? window.all(selector, each.shadowRoot) : []),
  ]);

/** The text that is rendered, without style sheets. */
window.text = (root = document.body) =>
  [...root.childNodes]
    .map((each) => {
      if (each.nodeType === Node.TEXT_NODE) return each.data;
      if (each.nodeType !== Node.ELEMENT_NODE || each.matches('style, script')) return '';
      if (each.matches('br')) return '\n';
      return window.text(each) + (each.shadowRoot ? window.text(each.shadowRoot) : '');
    })
    .join('');
