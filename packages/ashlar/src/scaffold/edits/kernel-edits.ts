import type { ArrayExpression, ClassDeclaration, Node, ObjectExpression } from "@babel/types";
import { bare, type Code, nodesIn } from "./code.ts";
import {
  classesOf,
  memberOf,
  propertyOf,
  withElement,
  withMember,
  withProperty,
  withStatements,
} from "./declarations.ts";
import type { Edit } from "./edits.ts";
import { type Imported, importsOf, nameOf, usesImport, withImport, withNew } from "./imports.ts";

/**
 * Adds a stack to the kernel's `routeMiddleware`, or fills it if it is empty.
 *
 * @param needed the middleware that an existing stack must contain; `null` to accept any existing stack
 */
export function inMiddleware(key: string, names: readonly Imported[], needed: string | null = null): Edit {
  return (code) => {
    const kernel = kernelOf(code);
    const member = kernel && memberOf(kernel, "routeMiddleware");
    const stacks = member && objectOf(member);
    const isReadable = kernel !== null && (member === null || stacks !== null);
    if (!isReadable) return usesImport(code, needed ?? names[0]!.name) ? code : null;
    const stack = stacks && propertyOf(stacks, key);
    if (stack && !isEmptyArray(stack.value)) return needed === null || mentions(stack, needed) ? code : null;
    if (stacks?.properties.some(({ type }) => type === "SpreadElement")) return null;
    return withImportedStack(code, key, names);
  };
}

function isEmptyArray(node: Node): boolean {
  const value = bare(node);
  return value.type === "ArrayExpression" && value.elements.length === 0;
}

function withImportedStack(code: Code, key: string, names: readonly Imported[]): Code | null {
  const locals: string[] = [];
  let own = code;
  for (const { name, from } of names) {
    const made = withImport(own, name, from);
    if (made === null) return null;
    own = made.code;
    locals.push(made.local);
  }
  return withStack(own, key, locals.join(", "));
}

/** Adds a middleware to the start of the kernel's `httpMiddleware`. */
export function inHttpMiddleware(name: string, from: string): Edit {
  return (code) => {
    if (usesImport(code, name)) return code;
    const kernel = kernelOf(code);
    if (kernel === null) return null;
    const list = memberOf(kernel, "httpMiddleware");
    if (list !== null && arrayOf(list) === null) return null;
    return withNew(code, name, from, (own, local) => {
      const owner = kernelOf(own)!;
      const member = memberOf(owner, "httpMiddleware");
      if (member !== null) return withElement(own, arrayOf(member)!, 0, local);
      return withMember(own, owner, [`override httpMiddleware = [${local}]${own.semicolon}`]);
    });
  };
}

function withStack(code: Code, key: string, locals: string): Code | null {
  const kernel = kernelOf(code)!;
  const property = `${/\W/.test(key) ? code.quote(key) : key}: [${locals}]`;
  const stacks = memberOf(kernel, "routeMiddleware");
  if (stacks === null)
    return withMember(code, kernel, ["override routeMiddleware = {", `\t${property},`, `}${code.semicolon}`]);
  const object = objectOf(stacks)!;
  const empty = propertyOf(object, key);
  if (empty !== null) return code.with({ at: bare(empty.value).start! + 1, text: locals });
  const web = propertyOf(object, "web");
  const isNext = key === "api" && web !== null;
  const index = key === "web" ? 0 : isNext ? object.properties.indexOf(web) + 1 : object.properties.length;
  return withProperty(code, object, property, index);
}

/**
 * Binds container keys in the kernel's `registerRoutes()`. If the first key is already bound, nothing is added, because
 * the author may have left out the others on purpose. An API without a bound prefix, for example, has no prefix.
 *
 * @param isSame whether the first key must be bound to this value
 */
export function binding(values: Readonly<Record<string, string>>, isSame = false): Edit {
  const [[first, wanted]] = Object.entries(values) as [[string, string]];
  return (code) => {
    const kernel = kernelOf(code);
    const method = kernel && memberOf(kernel, "registerRoutes");
    if (kernel === null || (method !== null && method.type !== "ClassMethod")) {
      return code.text.includes(code.quote(first)) ? code : null;
    }
    const bound = method === null ? new Map<string, Node | undefined>() : bindingsIn(method);
    if (bound.has(first)) {
      const value = bound.get(first);
      return isSame && !(value?.type === "StringLiteral" && value.value === wanted) ? null : code;
    }
    const statements = Object.entries(values)
      .filter(([key]) => !bound.has(key))
      .map(([key, value]) => `this.container.bind(${code.quote(key)}, ${code.quote(value)})`);
    if (method !== null) return withStatements(code, method, statements);
    const lines = statements.map((statement) => `\t${statement}${code.semicolon}`);
    return withMember(code, kernel, ["override registerRoutes(): void {", ...lines, "}"]);
  };
}

/** The kernel class: the only class that extends `HttpKernel`. */
function kernelOf(code: Code): ClassDeclaration | null {
  const imports = importsOf(code);
  const kernels = classesOf(code).filter(({ superClass }) => nameOf(superClass ?? null, imports) === "HttpKernel");
  return kernels.length === 1 ? kernels[0]! : null;
}

function mentions(node: Node, name: string): boolean {
  for (const one of nodesIn(node)) if (one.type === "Identifier" && one.name === name) return true;
  return false;
}

function objectOf(member: Node): ObjectExpression | null {
  if (member.type !== "ClassProperty" || !member.value) return null;
  const value = bare(member.value);
  return value.type === "ObjectExpression" ? value : null;
}

function arrayOf(member: Node): ArrayExpression | null {
  if (member.type !== "ClassProperty" || !member.value) return null;
  const value = bare(member.value);
  return value.type === "ArrayExpression" ? value : null;
}

/** The values bound by calls of `….bind(key, value)` in a method, by key. */
function bindingsIn(method: Node): Map<string, Node | undefined> {
  const bound = new Map<string, Node | undefined>();
  for (const node of nodesIn(method)) {
    if (node.type !== "CallExpression" || node.callee.type !== "MemberExpression") continue;
    const { property } = node.callee;
    const [key, value] = node.arguments;
    if (property.type === "Identifier" && property.name === "bind" && key?.type === "StringLiteral") {
      bound.set(key.value, value);
    }
  }
  return bound;
}
