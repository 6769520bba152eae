import type { Node, ObjectExpression } from "@babel/types";
import type { StepAddition } from "../../boot/index.ts";
import { bare, type Code } from "./code.ts";
import { classesOf, initialValueOf, memberOf, propertyOf, withElement, withProperty } from "./declarations.ts";
import type { Edit } from "./edits.ts";
import { importsOf, withImport } from "./imports.ts";
import { mixing } from "./user-model-edits.ts";

/** Adds an element to a list, a property to an object, or a mixin to a class, with its imports. */
export function adding({ imports, to: [variable, ...keys], text }: StepAddition): Edit {
  return (code) => {
    const mixin = imports.find(({ name }) => name === text);
    if (keys.length === 0 && mixin !== undefined && isClass(code, variable)) return mixing(text, mixin.from)(code);
    let own = code;
    for (const { name, from } of imports) {
      const made = withImport(own, name, from);
      // The text uses the value's exported name.
      if (made === null || made.local !== name) return null;
      own = made.code;
    }
    const place = placeIn(own, variable, keys);
    const quoted = text.replaceAll(/"([^"]*)"/g, (_, inside: string) => own.quote(inside));
    if (place?.type === "ArrayExpression") return withElement(own, place, place.elements.length, quoted);
    if (place?.type !== "ObjectExpression") return null;
    const isTaken = propertyOf(place, /^"?([\w-]*)/.exec(text)![1]!) !== null;
    if (isTaken || place.properties.some(({ type }) => type === "SpreadElement")) return null;
    return withProperty(own, place, quoted, place.properties.length);
  };
}

/** The list or the object at a path of keys that starts at a variable, or at a property of a class. */
function placeIn(code: Code, name: string, keys: readonly string[]): Node | null {
  const variable = initialValueOf(code, name);
  const [property = "", ...others] = keys;
  const first = variable ?? classProperty(code, name, property);
  const rest = variable === null ? others : keys;
  return rest.reduce<Node | null>(
    (node, key) => (node?.type === "ObjectExpression" ? propertyValue(node, key) : null),
    first,
  );
}

function isClass(code: Code, name: string): boolean {
  return classesOf(code).some(({ id }) => id?.name === name);
}

function classProperty(code: Code, name: string, property: string): Node | null {
  const owner = classesOf(code).find(({ id }) => id?.name === name);
  const member = owner === undefined ? null : memberOf(owner, property);
  return member?.type === "ClassProperty" && member.value ? bare(member.value) : null;
}

function propertyValue(object: ObjectExpression, key: string): Node | null {
  const property = propertyOf(object, key);
  return property && bare(property.value);
}

/** A step's lines, without imports that the file already has. */
export function missingLines(code: Code, lines: readonly string[]): readonly string[] {
  const known = new Set([...importsOf(code).values()].map(({ name, from }) => `import { ${name} } from "${from}";`));
  return lines.filter((line) => !known.has(line));
}
