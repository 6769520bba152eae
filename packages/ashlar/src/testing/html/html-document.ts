import { type DefaultTreeAdapterTypes, defaultTreeAdapter, Parser } from "parse5";

/** An element of a page. */
export type HtmlElement = DefaultTreeAdapterTypes.Element;
type HtmlNode = DefaultTreeAdapterTypes.ChildNode;

/** A page, parsed as in browsers. */
export interface HtmlDocument {
  readonly root: DefaultTreeAdapterTypes.Document;
  /**
   * The form that was open at each element's tag. It is the element's owner, even if the tree separates the two, as in
   * tables.
   */
  readonly openForms: ReadonlyMap<HtmlElement, HtmlElement>;
}

/** Parses a page, however malformed. */
export function parseHtml(html: string): HtmlDocument {
  const openForms = new Map<HtmlElement, HtmlElement>();
  const parser: Parser<DefaultTreeAdapterTypes.DefaultTreeAdapterMap> = new Parser({
    // The test client runs no scripts, so it uses the content for browsers without scripts.
    scriptingEnabled: false,
    treeAdapter: {
      ...defaultTreeAdapter,
      createElement(tagName, namespace, attributes) {
        const element = defaultTreeAdapter.createElement(tagName, namespace, attributes);
        if (parser.formElement !== null) openForms.set(element, parser.formElement);
        return element;
      },
    },
  });
  parser.tokenizer.write(html, true);
  return { root: parser.document, openForms };
}

/** A node of a page, and whether it begins or ends there. */
interface Step {
  readonly node: HtmlNode;
  readonly isEnd: boolean;
}

/** Yields the nodes of a page in order, without the content of templates. */
export function* nodesOf(root: DefaultTreeAdapterTypes.ParentNode): Generator<Step, void> {
  // This isn't recursive, because a page can be nested deeper than the stack allows.
  const left: Step[] = beginnings(root);
  for (let step = left.pop(); step !== undefined; step = left.pop()) {
    yield step;
    if (step.isEnd || !defaultTreeAdapter.isElementNode(step.node)) continue;
    left.push({ node: step.node, isEnd: true });
    for (const beginning of beginnings(step.node)) left.push(beginning);
  }
}

function beginnings({ childNodes }: DefaultTreeAdapterTypes.ParentNode): Step[] {
  return childNodes.map((node) => ({ node, isEnd: false })).reverse();
}

/** Yields the elements in a part of a page, in order. */
export function* elementsOf(root: DefaultTreeAdapterTypes.ParentNode): Generator<HtmlElement, void> {
  for (const { node, isEnd } of nodesOf(root)) {
    if (!isEnd && defaultTreeAdapter.isElementNode(node)) yield node;
  }
}

/** Returns the text in an element, unchanged. */
export function textIn(element: HtmlElement): string {
  let text = "";
  for (const { node } of nodesOf(element)) if (defaultTreeAdapter.isTextNode(node)) text += node.value;
  return text;
}

/** An element's attributes by name. */
export function attributesOf({ attrs }: HtmlElement): ReadonlyMap<string, string> {
  return new Map(attrs.map(({ name, value }) => [name, value]));
}

/** Yields the ancestors of an element, nearest first. */
export function* ancestorsOf(element: HtmlElement): Generator<HtmlElement, void> {
  for (let node = element.parentNode; node !== null && defaultTreeAdapter.isElementNode(node); node = node.parentNode) {
    yield node;
  }
}

/** Elements that don't separate words: the text of `<b>He</b>llo` is "Hello". */
const INLINE: ReadonlySet<string> = new Set(
  "a abbr b bdi bdo cite code data del dfn em font i ins kbd label mark q s samp small span strong sub sup time u var wbr".split(
    " ",
  ),
);

/** Elements whose content is not shown on the page. */
const UNSEEN: ReadonlySet<string> = new Set(["script", "style", "template", "title", "noframes", "iframe"]);

/** Returns a page's visible text, without markup, scripts and the title, and with collapsed white space. */
export function pageText(html: string): string {
  let text = "";
  let unseen = 0;
  for (const { node, isEnd } of nodesOf(parseHtml(html).root)) {
    if (defaultTreeAdapter.isTextNode(node)) {
      if (unseen === 0) text += node.value;
    } else if (defaultTreeAdapter.isElementNode(node)) {
      if (UNSEEN.has(node.tagName)) unseen += isEnd ? -1 : 1;
      if (!INLINE.has(node.tagName)) text += " ";
    }
  }
  return collapsed(text);
}

/** Collapses white space to single spaces, and trims it. */
export function collapsed(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
