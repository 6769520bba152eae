import type { ArrayExpression, CallExpression, ClassDeclaration, Node, ObjectExpression } from "@babel/types";
import { bare, type Code, nodesIn, rangeOf } from "./code.ts";
import {
  classesOf,
  initialValueOf,
  memberOf,
  propertyOf,
  withElement,
  withMember,
  withProperty,
  withStatements,
} from "./declarations.ts";
import { type Imported, importsOf, isUsed, usesImport, withImport } from "./imports.ts";
import { withItem } from "./lists.ts";

/**
 * A change of a file. It returns the code unchanged if the change is already made, and `null` if it doesn't recognize
 * the code's shape: doubtful cases are left to the author.
 */
export type Edit = (code: Code) => Code | null;

/** Makes several edits, or none. */
export function all(...edits: readonly Edit[]): Edit {
  return (code) => edits.reduce<Code | null>((before, edit) => before && edit(before), code);
}

/** Adds a class to a list of classes, such as `PROVIDERS`, where an order of names puts it. */
export function inList(list: string, name: string, from: string, order: readonly string[]): Edit {
  return (code) => {
    // In the list, or part of it in another form.
    if (usesImport(code, name)) return code;
    const array = initialValueOf(code, list);
    if (array?.type !== "ArrayExpression") return null;
    const imports = importsOf(code);
    const names = array.elements.map((one) => nameOf(one, imports));
    if (names.includes(name)) return code;
    if (names.includes(null)) return null;
    const rank = order.indexOf(name);
    const place = (isAt: (other: number) => boolean) => (one: string | null) => isAt(order.indexOf(one ?? ""));
    const after = names.findLastIndex(place((other) => other !== -1 && other < rank)) + 1;
    const before = names.findIndex(place((other) => other > rank));
    // An order of the author's own.
    if (before !== -1 && before < after) return null;
    const index = after > 0 ? after : before === -1 ? names.length : before;
    return withNew(code, name, from, (own, local) => {
      const value = initialValueOf(own, list);
      return value?.type === "ArrayExpression" ? withElement(own, value, index, local) : null;
    });
  };
}

/** Adds `...Owner.method(…)` to the end of a list of routes. */
export function inRoutes(owner: string, from: string, call: string): Edit {
  return (code) => {
    if (callsRoutesOf(code, owner)) return code;
    const array = initialValueOf(code, "ROUTES");
    if (array?.type !== "ArrayExpression") return null;
    return withNew(code, owner, from, (own, local) => {
      const value = initialValueOf(own, "ROUTES");
      if (value?.type !== "ArrayExpression") return null;
      return withElement(own, value, value.elements.length, `...${local}.routes(${call})`);
    });
  };
}

/** Adds a stack to `routeMiddleware` of the kernel. An existing but empty one is filled. */
export function inMiddleware(key: string, names: readonly Imported[], needed: string | null = null): Edit {
  return (code) => {
    const kernel = kernelOf(code);
    const stacks = kernel && memberOf(kernel, "routeMiddleware");
    // A shape that only its author knows.
    if (kernel === null || (stacks !== null && objectOf(stacks) === null)) {
      return usesImport(code, needed ?? names[0]!.name) ? code : null;
    }
    const stack = stacks && propertyOf(objectOf(stacks)!, key);
    const value = stack && bare(stack.value);
    const isEmpty = value?.type === "ArrayExpression" && value.elements.length === 0;
    if (stack && !isEmpty) return needed === null || mentions(stack, needed) ? code : null;
    if (stacks && objectOf(stacks)!.properties.some(({ type }) => type === "SpreadElement")) return null;
    const locals: string[] = [];
    let own = code;
    for (const { name, from } of names) {
      const made = withImport(own, name, from);
      if (made === null) return null;
      own = made.code;
      locals.push(made.local);
    }
    return withStack(own, key, locals.join(", "));
  };
}

/** Adds a middleware to `httpMiddleware` of the kernel, before the others. */
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
 * Binds container keys in `registerRoutes()` of the kernel. If the first one is bound already, the others are up to the
 * author: without a prefix, for example, the routes of the API have none.
 *
 * @param isSame whether the first one must be bound to this value
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

/** Adds a mixin to the class of users. */
export function mixing(name: string, from: string): Edit {
  return (code) => {
    if (usesImport(code, name)) return code;
    const user = userOf(code);
    if (user === null) return null;
    const imports = importsOf(code);
    const parent = user.superClass!;
    const mixins = parent.type === "CallExpression" ? parent.arguments : [parent];
    if (mixins.some((one) => nameOf(one, imports) === name)) return code;
    return withNew(code, name, from, (own, local) => {
      const superClass = userOf(own)!.superClass!;
      if (superClass.type === "CallExpression") {
        const open = own.text.indexOf("(", superClass.callee.end!) + 1;
        const list = { open, close: superClass.end! - 1, items: superClass.arguments.map(rangeOf), isSpaced: false };
        return withItem(own, list, superClass.arguments.length, local);
      }
      const model = own.textOf(superClass);
      return withNew(own, "compose", "ashlar/database", (composed, compose) => {
        const { start, end } = rangeOf(userOf(composed)!.superClass!);
        return composed.with({ at: start, until: end, text: `${compose}(${model}, ${local})` });
      });
    });
  };
}

/** Says `override` at a static property of the class of users, if it has one, as TypeScript asks of what a mixin has, too. */
export function overriding(name: string): Edit {
  return (code) => {
    const property = userOf(code)?.body.body.find(
      (one) => one.type === "ClassProperty" && one.static && one.key.type === "Identifier" && one.key.name === name,
    );
    if (property?.type !== "ClassProperty" || property.override === true || !code.isTypeScript) return code;
    return code.with({ at: property.key.start!, text: "override " });
  };
}

/** The parts that the class of users is composed of, from `Model` on, as written. */
export interface Composition {
  readonly className: string;
  readonly parts: readonly string[];
}

/** Returns the parts that the class of users is composed of; `null` if that can't be read. */
export function compositionOf(code: Code): Composition | null {
  const user = userOf(code);
  if (!user?.id) return null;
  const parent = user.superClass!;
  const parts = parent.type === "CallExpression" ? parent.arguments : [parent];
  return { className: user.id.name, parts: parts.map((one) => code.textOf(one)) };
}

/** Adds a property to an object that a variable has, before the others or after them. */
export function inObject(variable: string, key: string, value: string, place: "first" | "last" = "last"): Edit {
  return (code) => {
    const object = initialValueOf(code, variable);
    if (object?.type !== "ObjectExpression") return object !== null && isUsed(code, key) ? code : null;
    const existing = propertyOf(object, key);
    if (existing !== null) return place === "last" || code.textOf(existing.value).slice(1, -1) === value ? code : null;
    if (object.properties.some(({ type }) => type === "SpreadElement")) return null;
    const text = place === "first" ? code.quote(value) : value;
    return withProperty(code, object, `${key}: ${text}`, place === "first" ? 0 : object.properties.length);
  };
}

/** Imports a value by name. */
export function importing(name: string, from: string): Edit {
  return (code) => withImport(code, name, from)?.code ?? null;
}

/** Appends a declaration, unless there is one with its name. */
export function declaring(name: string, lines: readonly string[]): Edit {
  return (code) => {
    if (initialValueOf(code, name) !== null || isUsed(code, name)) return code;
    const text = lines.join("\n").replace(/;$/, code.semicolon).replaceAll("  ", code.indent);
    return code.with({ at: code.text.trimEnd().length, text: `\n\n${text}` });
  };
}

/** The only call of `createApplication` in a file; `null` if there isn't one, or more than one. */
export function creationIn(code: Code): CallExpression | null {
  const imports = importsOf(code);
  const calls: CallExpression[] = [];
  for (const node of nodesIn(code.program)) {
    if (node.type === "CallExpression" && nameOf(node.callee, imports) === "createApplication") calls.push(node);
  }
  return calls.length === 1 ? calls[0]! : null;
}

/** The options of an application, if they are written out; `null` if they come from elsewhere. */
export function optionsOf(code: Code, { arguments: [options] }: CallExpression): ObjectExpression | null {
  if (options === undefined) return null;
  const value = bare(options);
  const object = value.type === "Identifier" ? initialValueOf(code, value.name) : value;
  return object?.type === "ObjectExpression" ? object : null;
}

/** Adds options to the call of `createApplication`, before the others. */
export function creatingWith(properties: readonly string[]): Edit {
  return (code) => {
    const call = creationIn(code);
    if (call === null) return null;
    if (call.arguments.length === 0) return code.with({ at: call.end! - 1, text: `{ ${properties.join(", ")} }` });
    return properties.toReversed().reduce<Code | null>((own, property) => {
      const object = own && optionsOf(own, creationIn(own)!);
      if (!object || object.properties.some(({ type }) => type === "SpreadElement")) return null;
      return withProperty(own, object, property, 0);
    }, code);
  };
}

/** Exports the application as the default, in place of `….listen(…)` if that is a separate statement. */
export const exportingApplication: Edit = (code) => {
  const call = creationIn(code);
  const found = code.program.body.find((one) => call && one.start! <= call.start! && one.end! >= call.end!);
  if (call === null || found === undefined) return null;
  if (found.type === "ExpressionStatement") {
    const { expression } = found;
    const isAlone = expression.type === "AwaitExpression" && expression.argument === call;
    return isAlone ? code.with({ at: found.start!, text: "export default " }) : null;
  }
  if (found.type !== "VariableDeclaration") return null;
  const variable = found.declarations.find(({ init }) => init?.type === "AwaitExpression" && init.argument === call);
  if (variable?.id.type !== "Identifier") return null;
  const name = variable.id.name;
  const line = `export default ${name}${code.semicolon}`;
  const listening = code.program.body.filter((one) => /\.listen\(/.test(code.textOf(one)));
  const [statement] = listening;
  if (statement === undefined) return code.with({ at: code.text.trimEnd().length, text: `\n\n${line}` });
  const isPlain = new RegExp(`^(?:await\\s+)?${name}\\.listen\\([^()]*\\);?$`).test(code.textOf(statement));
  if (listening.length > 1 || !isPlain) return null;
  return code.with({ at: statement.start!, until: statement.end!, text: line });
};

function withNew(code: Code, name: string, from: string, use: (code: Code, local: string) => Code | null): Code | null {
  const made = withImport(code, name, from);
  return made && use(made.code, made.local);
}

/** The name that a node was imported by, or its own; `null` if it's no name. */
function nameOf(node: Node | null, imports: ReadonlyMap<string, Imported>): string | null {
  const value = node && bare(node);
  return value?.type === "Identifier" ? (imports.get(value.name)?.name ?? value.name) : null;
}

function callsRoutesOf(code: Code, owner: string): boolean {
  const imports = importsOf(code);
  for (const one of nodesIn(code.program)) {
    if (one.type !== "MemberExpression" || nameOf(one.object, imports) !== owner) continue;
    if (one.property.type === "Identifier" && one.property.name === "routes") return true;
  }
  return false;
}

function mentions(node: Node, name: string): boolean {
  for (const one of nodesIn(node)) if (one.type === "Identifier" && one.name === name) return true;
  return false;
}

/** The kernel's class: the only one that extends `HttpKernel`. */
function kernelOf(code: Code): ClassDeclaration | null {
  const imports = importsOf(code);
  const kernels = classesOf(code).filter(({ superClass }) => nameOf(superClass ?? null, imports) === "HttpKernel");
  return kernels.length === 1 ? kernels[0]! : null;
}

/** The class of users: `User`, or the only one, that extends `Model` or what `compose` makes of it. */
function userOf(code: Code): ClassDeclaration | null {
  const imports = importsOf(code);
  const isModel = ({ superClass }: ClassDeclaration): boolean => {
    const isComposed = superClass?.type === "CallExpression" && nameOf(superClass.callee, imports) === "compose";
    const base = isComposed ? superClass.arguments[0] : superClass;
    return nameOf(base ?? null, imports) === "Model";
  };
  const models = classesOf(code).filter(isModel);
  return models.find(({ id }) => id?.name === "User") ?? (models.length === 1 ? models[0]! : null);
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

/** The values that a method's calls of `….bind(key, value)` bind. */
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
