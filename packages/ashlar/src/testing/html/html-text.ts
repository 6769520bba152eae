import { defaultTreeAdapter } from "parse5";
import { nodesOf, parseHtml } from "./html-document.ts";

/** Elements that do not separate words: `<b>He</b>llo` reads "Hello". */
const INLINE: ReadonlySet<string> = new Set(
  "a abbr b bdi bdo cite code data del dfn em font i ins kbd label mark q s samp small span strong sub sup time u var wbr".split(
    " ",
  ),
);

/** Elements whose content is not shown on the page. */
const UNSEEN: ReadonlySet<string> = new Set(["script", "style", "template", "title", "noframes", "iframe"]);

/** Returns the visible text of a page: without markup, scripts and the title, white space collapsed. */
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
