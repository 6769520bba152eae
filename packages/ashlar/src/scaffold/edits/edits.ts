import { type Code, nodesIn } from "./code.ts";
import { initialValueOf, propertyOf, withElement, withProperty } from "./declarations.ts";
import { importsOf, isUsed, nameOf, usesImport, withImport, withNew } from "./imports.ts";

/**
 * Changes a file's code. Returns the code unchanged if it already has the change, and `null` if the edit doesn't
 * recognize the code's structure; then the author has to make the change by hand.
 */
export type Edit = (code: Code) => Code | null;

/** Combines edits: if one of them can't be made, none is. */
export function all(...edits: readonly Edit[]): Edit {
  return (code) => edits.reduce<Code | null>((before, edit) => before && edit(before), code);
}

/**
 * Adds a class to a list of classes, such as `PROVIDERS`.
 *
 * @param order the names of classes, in the order in which they should be listed
 */
export function inList(list: string, name: string, from: string, order: readonly string[]): Edit {
  return (code) => {
    // The list already has it, or the author adds it in some other way.
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
    // The author has chosen another order.
    if (before !== -1 && before < after) return null;
    const index = after > 0 ? after : before === -1 ? names.length : before;
    return withNew(code, name, from, (own, local) => {
      const value = initialValueOf(own, list);
      return value?.type === "ArrayExpression" ? withElement(own, value, index, local) : null;
    });
  };
}

/** Adds `...Owner.routes(…)` to the end of `ROUTES`. */
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

/** Adds a property to the object in a variable, before or after the others. */
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

/** Appends a declaration unless the file already has one with its name. */
export function declaring(name: string, lines: readonly string[]): Edit {
  return (code) => {
    if (initialValueOf(code, name) !== null || isUsed(code, name)) return code;
    const text = lines.join("\n").replace(/;$/, code.semicolon).replaceAll("  ", code.indent);
    return code.with({ at: code.text.trimEnd().length, text: `\n\n${text}` });
  };
}

function callsRoutesOf(code: Code, owner: string): boolean {
  const imports = importsOf(code);
  for (const one of nodesIn(code.program)) {
    if (one.type !== "MemberExpression" || nameOf(one.object, imports) !== owner) continue;
    if (one.property.type === "Identifier" && one.property.name === "routes") return true;
  }
  return false;
}
