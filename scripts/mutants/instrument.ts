// Inserts every mutant of a file next to the original, so that one build contains all of them:
// `a < b` becomes `(__mutant(17)?((a) <= (b)):a < b)`. Line numbers don't change.

import { parseSync } from "oxc-parser";
import { isRemovable, isSaid, isWordingName, type Node, replacementsOf, type Surroundings } from "./mutators.ts";

export interface Mutant {
  /** The name of the enclosing function or class: "Model.delete". */
  readonly scope: string;
  /** The source text that changes, on one line. */
  readonly from: string;
  /** The replacement; empty if the text is removed. */
  readonly to: string;
  readonly line: number;
  /** What its result depends on: the enclosing function or class member without comments and whitespace. */
  readonly essence: string;
}

export interface Instrumented {
  readonly mutants: readonly Mutant[];
  /** The source with all mutants, numbered from the given first number. */
  readonly code: string;
  /** The source without comments, imports and whitespace. */
  readonly essence: string;
}

interface Insertion {
  readonly start: number;
  readonly end: number;
  readonly before: string;
  readonly after: string;
}

const wrappers: ReadonlySet<string> = new Set([
  "TSAsExpression",
  "TSSatisfiesExpression",
  "TSNonNullExpression",
  "TSTypeAssertion",
]);

const skippedTypes: ReadonlySet<string> = new Set(["ImportDeclaration", "ExportAllDeclaration", "ImportExpression"]);

const skippedKeys: ReadonlySet<string> = new Set([
  "type",
  "typeAnnotation",
  "typeArguments",
  "typeParameters",
  "returnType",
  "superTypeArguments",
  "superClass",
  "implements",
  "source",
  "label",
  "id",
]);

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && typeof (value as Node).type === "string";
}

function nameOf(node: Node, parent: Node | undefined): string | undefined {
  const named = (value: unknown): string | undefined => {
    if (!isNode(value)) return undefined;
    if (value.type === "Identifier") return value.name as string;
    if (value.type === "PrivateIdentifier") return `#${value.name}`;
    return value.type === "Literal" ? String(value.value) : undefined;
  };
  switch (node.type) {
    case "FunctionDeclaration":
    case "ClassDeclaration":
    case "VariableDeclarator":
      return named(node.id);
    case "MethodDefinition":
    case "PropertyDefinition":
      return named(node.key);
    case "Property":
      return parent?.type === "ObjectExpression" && /Function/.test((node.value as Node).type)
        ? named(node.key)
        : undefined;
  }
  return undefined;
}

/** Finds the mutants of a TypeScript file and inserts them. `first` is the number of its first mutant. */
export function instrument(path: string, source: string, first: number): Instrumented {
  const { program, comments, errors } = parseSync(path, source, { preserveParens: false });
  if (errors.length > 0) throw new SyntaxError(`${path}: ${errors[0]!.message}`);
  const mutants: Mutant[] = [];
  const insertions: Insertion[] = [];
  const scopes: string[] = [];
  /** The enclosing function or class member; of several, the outermost. */
  let unit: Node | null = null;
  const essences = new Map<Node | null, string>();
  const lineStarts = [0, ...[...source.matchAll(/\n/g)].map(({ index }) => index + 1)];

  /** Text on one line without comments, so that insertions don't shift lines. */
  function between(start: number, end: number): string {
    let text = "";
    let from = start;
    for (const comment of comments) {
      if (comment.start < start || comment.end > end) continue;
      text += source.slice(from, comment.start);
      from = comment.end;
    }
    text += source.slice(from, end);
    return text.includes("`") ? text : text.replaceAll(/\s*\n\s*/g, " ");
  }
  const text = (node: Node): string => between(node.start, node.end);

  function essenceOf(enclosing: Node | null): string {
    let essence = essences.get(enclosing);
    if (essence === undefined) {
      const { start, end } = enclosing ?? program;
      const imports = program.body.filter(({ type }) => type === "ImportDeclaration");
      essence = without([...comments, ...imports], source, start, end);
      essences.set(enclosing, essence);
    }
    return essence;
  }

  function add(node: Node, from: string, to: string): number {
    const line = lineStarts.findLastIndex((start) => start <= node.start) + 1;
    mutants.push({ scope: scopes.join("."), from, to, line, essence: essenceOf(unit) });
    return first + mutants.length - 1;
  }

  function inExpression(node: Node, around: Surroundings): void {
    const before = replacementsOf(node, around)
      .map((to) => `__mutant(${add(node, text(node), to)})?(${to}):`)
      .join("");
    if (before) insertions.push({ start: node.start, end: node.end, before: `(${before}`, after: ")" });
  }

  /** A property or an element that may be missing: `...(__mutant(17)?{}:{a: 1})`. */
  function droppable(part: Node, open: string, close: string): void {
    const number = add(part, text(part), "");
    const before = `...(__mutant(${number})?${open}${close}:${open}`;
    insertions.push({ start: part.start, end: part.end, before, after: `${close})` });
  }

  function inTry(node: Node): void {
    const finalizer = node.finalizer as Node | null;
    if (finalizer && (finalizer.body as Node[]).length > 1) {
      const number = add(finalizer, text(finalizer), "{}");
      const { start, end } = finalizer;
      insertions.push({ start, end, before: `{if(!__mutant(${number}))`, after: "}" });
    }
    const handler = node.handler as (Node & { body: Node & { body: Node[] } }) | null;
    const parameter = handler?.param as Node | null | undefined;
    const rethrows = handler?.body.body[0]?.type === "ThrowStatement";
    if (!handler || rethrows || (parameter && parameter.type !== "Identifier")) return;
    const number = add(handler, text(handler), "rethrow");
    const { start } = handler.body;
    const name = (parameter?.name as string | undefined) ?? "__caught";
    if (!parameter) insertions.push({ start, end: start, before: `(${name})`, after: "" });
    insertions.push({ start: start + 1, end: start + 1, before: `if(__mutant(${number}))throw ${name};`, after: "" });
  }

  function visit(node: Node, parent: Node | undefined, role: string, inMessage: boolean, inChain: boolean): void {
    if (node.type.startsWith("TS") && !wrappers.has(node.type)) return;
    if (skippedTypes.has(node.type) || node.declare === true) return;
    const name = nameOf(node, parent);
    if (name !== undefined) scopes.push(name);
    const opensUnit = name !== undefined && unit === null && node.type !== "ClassDeclaration";
    if (opensUnit) unit = node;
    if (isRemovable(node)) {
      const number = add(node, text(node), "");
      insertions.push({ start: node.start, end: node.end, before: `{if(!__mutant(${number})){`, after: "}}" });
    } else if (node.type === "TryStatement") {
      inTry(node);
    } else if (parent && !inChain) {
      inExpression(node, { parent, role, text, between, inMessage });
    }
    // Besides its message, an error or log line may have an object of data, which is part of the behavior.
    const said = node.type !== "ObjectExpression" && (inMessage || isSaid(node, { text }) || isWordingName(name));
    for (const [key, value] of Object.entries(node)) {
      if (skippedKeys.has(key) || (key === "key" && node.computed !== true)) continue;
      // Inside `a?.b.c()` no link can be replaced on its own: the rest would no longer be skipped.
      const spine = key === "object" || key === "callee" || key === "expression";
      const chained = spine && (node.type === "ChainExpression" || inChain);
      for (const child of Array.isArray(value) ? value : [value]) {
        if (!isNode(child)) continue;
        const dropped =
          key === "properties" && node.type === "ObjectExpression" && child.kind !== "get" && child.kind !== "set";
        if (dropped) droppable(child, "{", "}");
        if (key === "elements" && node.type === "ArrayExpression") droppable(child, "[", "]");
        visit(child, node, key, said, chained);
      }
    }
    if (name !== undefined) scopes.pop();
    if (opensUnit) unit = null;
  }

  visit(program as unknown as Node, undefined, "", false, false);
  return { mutants, code: inserted(source, insertions), essence: essenceOf(null) };
}

interface Range {
  readonly start: number;
  readonly end: number;
}

/** A part of the source without some ranges and without whitespace. */
function without(ranges: readonly Range[], source: string, from: number, to: number): string {
  let kept = "";
  let at = from;
  for (const { start, end } of ranges.toSorted((a, b) => a.start - b.start)) {
    if (end <= at || start >= to) continue;
    kept += source.slice(at, Math.max(start, at));
    at = end;
  }
  return (kept + source.slice(at, to)).replaceAll(/\s+/g, "");
}

/** The source with all insertions: outer ones open first and close last. */
function inserted(source: string, insertions: readonly Insertion[]): string {
  const numbered = insertions.map((insertion, order) => ({ ...insertion, order }));
  const opening = numbered.toSorted((a, b) => a.start - b.start || b.end - a.end || a.order - b.order);
  const closing = numbered.toSorted((a, b) => a.end - b.end || b.start - a.start || b.order - a.order);
  const pieces = [
    ...closing.map(({ end, after }) => ({ at: end, text: after })),
    ...opening.map(({ start, before }) => ({ at: start, text: before })),
  ].toSorted((a, b) => a.at - b.at);
  let code = "";
  let from = 0;
  for (const { at, text } of pieces) {
    code += source.slice(from, at) + text;
    from = at;
  }
  return code + source.slice(from);
}
