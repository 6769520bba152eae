import { decodeEntities } from "./html-entities.ts";

/** A tag or a piece of text of a page, in the order of the page. Names are in lower case, references are decoded. */
export type HtmlToken =
  | { readonly kind: "open"; readonly name: string; readonly attributes: ReadonlyMap<string, string> }
  | { readonly kind: "close"; readonly name: string }
  | { readonly kind: "text"; readonly text: string };

/** Elements whose content is text and no markup; of the latter, with references in it (HTML §13.1.2). */
const RAW: ReadonlySet<string> = new Set(["script", "style", "iframe", "noembed", "noframes", "xmp"]);
const ESCAPABLE: ReadonlySet<string> = new Set(["textarea", "title"]);

const TAG = /<(\/?)([a-z][^\s/>]*)/iy;
const BETWEEN_ATTRIBUTES = /[\s/]*/y;
const ATTRIBUTE = /([^\s"'<>/=][^\s/>=]*)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'=<>`]+)))?/y;

/** Cuts a page into tags and text, leniently as browsers do. Comments and declarations are left out. */
export function* tokensOf(html: string): Generator<HtmlToken, void> {
  let position = 0;
  while (position < html.length) {
    const start = html.indexOf("<", position);
    const textEnd = start === -1 ? html.length : start;
    if (textEnd > position) yield text(html.slice(position, textEnd));
    if (start === -1) return;
    const markupEnd = endOfNoElement(html, start);
    if (markupEnd !== null) {
      position = markupEnd;
      continue;
    }
    TAG.lastIndex = start;
    const tag = TAG.exec(html);
    if (tag === null) {
      // A lone "<" is text.
      yield text("<");
      position = start + 1;
      continue;
    }
    const name = tag[2]!.toLowerCase();
    const { attributes, end } = attributesAt(html, TAG.lastIndex);
    position = end;
    if (tag[1] === "/") {
      yield { kind: "close", name };
      continue;
    }
    yield { kind: "open", name, attributes };
    if (!RAW.has(name) && !ESCAPABLE.has(name)) continue;
    const contentEnd = endOfRawText(html, position, name);
    const content = html.slice(position, contentEnd);
    if (content !== "") yield RAW.has(name) ? { kind: "text", text: content } : text(content);
    position = contentEnd;
  }
}

function text(raw: string): HtmlToken {
  return { kind: "text", text: decodeEntities(raw) };
}

/** Where a comment or a declaration ends that begins here; `null` where none does. */
function endOfNoElement(html: string, start: number): number | null {
  const next = html[start + 1];
  if (next !== "!" && next !== "?") return null;
  const isComment = html.startsWith("<!--", start);
  const end = html.indexOf(isComment ? "-->" : ">", isComment ? start + 4 : start + 2);
  return end === -1 ? html.length : end + (isComment ? 3 : 1);
}

function attributesAt(html: string, start: number): { readonly attributes: Map<string, string>; readonly end: number } {
  const attributes = new Map<string, string>();
  let position = endOfGap(html, start);
  while (position < html.length && html[position] !== ">") {
    ATTRIBUTE.lastIndex = position;
    const match = ATTRIBUTE.exec(html);
    if (match === null) {
      position = endOfGap(html, position + 1);
      continue;
    }
    const [, name = "", double, single, bare] = match;
    const key = name.toLowerCase();
    // Of two attributes of one name the first counts (HTML §13.2.5.33).
    if (!attributes.has(key)) attributes.set(key, decodeEntities(double ?? single ?? bare ?? ""));
    position = endOfGap(html, ATTRIBUTE.lastIndex);
  }
  return { attributes, end: Math.min(position + 1, html.length) };
}

function endOfGap(html: string, start: number): number {
  BETWEEN_ATTRIBUTES.lastIndex = start;
  BETWEEN_ATTRIBUTES.exec(html);
  return BETWEEN_ATTRIBUTES.lastIndex;
}

function endOfRawText(html: string, start: number, name: string): number {
  const close = new RegExp(`</${name}(?=[\\s/>])`, "gi");
  close.lastIndex = start;
  return close.exec(html)?.index ?? html.length;
}
