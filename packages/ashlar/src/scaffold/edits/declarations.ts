import type {
  ArrayExpression,
  ClassDeclaration,
  ClassMethod,
  ClassProperty,
  Node,
  ObjectExpression,
  ObjectProperty,
} from "@babel/types";
import { bare, type Code, declarationOf, rangeOf } from "./code.ts";
import { withItem } from "./lists.ts";

/** The value of a variable declared at the top level of a file; `null` if there isn't one. */
export function initialValueOf(code: Code, name: string): Node | null {
  for (const statement of code.program.body) {
    const declaration = declarationOf(statement);
    if (declaration.type !== "VariableDeclaration") continue;
    for (const { id, init } of declaration.declarations) {
      if (id.type === "Identifier" && id.name === name && init) return bare(init);
    }
  }
  return null;
}

/** The classes declared at the top level of a file. */
export function classesOf(code: Code): ClassDeclaration[] {
  return code.program.body.map(declarationOf).filter((one) => one.type === "ClassDeclaration");
}

/** Returns an object's property with a key; `null` if there isn't one. */
export function propertyOf(object: ObjectExpression, key: string): ObjectProperty | null {
  for (const one of object.properties) if (one.type === "ObjectProperty" && keyOf(one) === key) return one;
  return null;
}

/** Returns a class's member with a name; `null` if there isn't one. */
export function memberOf(declaration: ClassDeclaration, name: string): ClassMethod | ClassProperty | null {
  for (const one of declaration.body.body) {
    const isNamed = one.type === "ClassMethod" || one.type === "ClassProperty";
    if (isNamed && !one.static && keyOf(one) === name) return one;
  }
  return null;
}

/** Adds `key: value` to an object, before the property at an index. */
export function withProperty(code: Code, object: ObjectExpression, property: string, index: number): Code {
  const list = { ...bracketsOf(object), items: object.properties.map(rangeOf), isSpaced: true };
  return withItem(code, list, index, property);
}

/**
 * Adds an element to an array, before the one at an index.
 *
 * @returns `null` if the array has holes
 */
export function withElement(code: Code, array: ArrayExpression, index: number, element: string): Code | null {
  const items = array.elements.flatMap((one) => (one === null ? [] : [rangeOf(one)]));
  if (items.length < array.elements.length) return null;
  return withItem(code, { ...bracketsOf(array), items, isSpaced: false }, index, element);
}

/** Adds a member to the end of a class, with the indentation of its members. */
export function withMember(code: Code, { body }: ClassDeclaration, lines: readonly string[]): Code {
  const outer = code.indentAt(body.start!);
  const member = lines.map((line) => `\n${outer}${code.indent}${line.replaceAll("\t", code.indent)}`).join("");
  return withLast(code, body.body.at(-1) ?? null, rangeOf(body), member, "\n");
}

/** Adds statements to the end of a method. */
export function withStatements(code: Code, { body }: ClassMethod, statements: readonly string[]): Code {
  const last = body.body.at(-1) ?? null;
  const isOwnLine = last !== null && code.text.slice(0, last.start!).trimEnd() !== code.text.slice(0, last.start!);
  const indent =
    isOwnLine && code.breaksIn({ start: body.start!, end: last.start! })
      ? code.indentAt(last.start!)
      : code.indentAt(body.start!) + code.indent;
  const text = statements.map((statement) => `\n${indent}${statement}${code.semicolon}`).join("");
  return withLast(code, last, rangeOf(body), text, "");
}

/** Adds lines to the end of a block: after its last node and the comment on the same line, or as its only lines. */
function withLast(
  code: Code,
  last: Node | null,
  block: { start: number; end: number },
  text: string,
  gap: string,
): Code {
  const close = block.end - 1;
  const closing = `\n${code.indentAt(block.start)}`;
  if (last === null) {
    const inside = code.text.slice(block.start + 1, close);
    const at = block.start + 1 + inside.trimEnd().length;
    return code.with({ at, text: inside.includes("\n") ? text : text + closing });
  }
  const end = code.lineEnd(last.end!);
  const isOwnLine = end < close && code.isBare({ start: last.end!, end });
  return code.with({ at: isOwnLine ? end : last.end!, text: `${gap}${text}${isOwnLine ? "" : closing}` });
}

function bracketsOf(node: Node): { readonly open: number; readonly close: number } {
  return { open: node.start! + 1, close: node.end! - 1 };
}

function keyOf({ key, computed }: ObjectProperty | ClassMethod | ClassProperty): string | null {
  if (computed) return null;
  return key.type === "Identifier" ? key.name : key.type === "StringLiteral" ? key.value : null;
}
