import type { ImportDeclaration, Node, ObjectExpression } from "@babel/types";
import { bare, type Code, type Insertion, nodesIn } from "../edits/code.ts";
import { initialValueOf, propertyOf } from "../edits/declarations.ts";
import type { Edit } from "../edits/edits.ts";
import { type Imported, importsOf, isUsed, withImport } from "../edits/imports.ts";

/**
 * The code with an import that isn't renamed; `null` if the file uses the name for something else, or imports it under
 * another name.
 */
function importing(code: Code, name: string, from: string): Code | null {
  const made = withImport(code, name, from);
  return made?.local === name ? made.code : null;
}

/** Objects in a variable, by their path of keys. `*` matches every key. */
export type SettingPath = readonly [variable: string, ...keys: string[]];

/** Renames a setting and keeps its value, unless the new name already exists. */
export function renamingSetting(path: SettingPath, before: string, after: string): Edit {
  return (code) => renamingProperty(code, objectsAt(code, path), before, after);
}

/** Renames an option in calls of a package's function with an object: `many({ maxTokensPerUser: 5 })`. */
export function renamingOption(callee: Imported, before: string, after: string): Edit {
  return (code) => renamingProperty(code, optionsOf(code, callee), before, after);
}

function renamingProperty(code: Code, objects: readonly ObjectExpression[], before: string, after: string): Code {
  const insertions: Insertion[] = [];
  for (const object of objects) {
    const old = propertyOf(object, before);
    if (old === null || propertyOf(object, after) !== null) continue;
    // A shorthand property keeps its variable.
    insertions.push({ at: old.key.start!, until: old.key.end!, text: old.shorthand ? `${after}: ${before}` : after });
  }
  return insertions.length === 0 ? code : code.with(...insertions);
}

/** The objects passed to an imported function as its first argument. */
function optionsOf(code: Code, { name, from }: Imported): ObjectExpression[] {
  const imports = importsOf(code);
  return [...nodesIn(code.program)].flatMap((node) => {
    if (node.type !== "CallExpression" || node.callee.type !== "Identifier") return [];
    const imported = imports.get(node.callee.name);
    const [options] = node.arguments;
    return imported?.name === name && imported.from === from && options?.type === "ObjectExpression" ? [options] : [];
  });
}

/**
 * Replaces a setting's name and value, such as a driver's name with the function that creates the driver.
 *
 * @param replacement returns the new name and value; `null` to leave the value to the author
 */
export function replacingSetting(
  path: SettingPath,
  before: string,
  replacement: (value: Node) => { readonly text: string; readonly name: string; readonly from: string } | null,
): Edit {
  return (code) => {
    const [object] = objectsAt(code, path);
    const old = object && propertyOf(object, before);
    if (!old) return code;
    const made = replacement(bare(old.value));
    if (made === null) return null;
    return importing(code.with({ at: old.start!, until: old.end!, text: made.text }), made.name, made.from);
  };
}

/** Moves a setting from an object to the enclosing one, under another name. */
export function raisingSetting(path: SettingPath, before: string, after: string): Edit {
  return (code) => {
    const [object] = objectsAt(code, path);
    const [around] = objectsAt(code, path.slice(0, -1) as unknown as SettingPath);
    const old = object && propertyOf(object, before);
    if (!old || around === undefined || propertyOf(around, after) !== null) return code;
    const end = code.commaAfter(old.end!) ?? old.end!;
    const value = code.textOf(old.value);
    const holder = propertyOf(around, path.at(-1)!)!;
    const isAlone = object.properties.length === 1;
    const property = `${after}: ${value}`;
    if (isAlone) return code.with({ at: holder.start!, until: holder.end!, text: property });
    const rest = code.text.slice(end);
    const gap = /^[ \t]*\r?\n?[ \t]*/.exec(rest)![0].length;
    return code.with(
      { at: holder.start!, text: `${property},\n${code.indentAt(holder.start!)}` },
      { at: old.start!, until: end + gap, text: "" },
    );
  };
}

/** Wraps objects that name their driver, such as `{ driver: "sqlite", path }`, in a call of the driver's function. */
export function callingDrivers(variable: string, drivers: Readonly<Record<string, string>>): Edit {
  return (code) => {
    let own: Code = code;
    for (;;) {
      const named = objectsAt(own, [variable, "*"]).find((one) => driverOf(one, drivers) !== null);
      if (named === undefined) return own;
      const driver = driverOf(named, drivers)!;
      const property = propertyOf(named, "driver")!;
      const end = own.commaAfter(property.end!) ?? property.end!;
      const gap = /^[ \t]*\r?\n?[ \t]*/.exec(own.text.slice(end))![0].length;
      const called = own.with(
        { at: named.start!, text: `${driver}(` },
        { at: property.start!, until: end + gap, text: "" },
        { at: named.end!, text: ")" },
      );
      const imported = importing(called, driver, drivers[driver]!);
      if (imported === null) return null;
      own = imported;
    }
  };
}

/** The driver named in an object, if it is now a function; otherwise `null`. */
function driverOf(object: ObjectExpression, drivers: Readonly<Record<string, string>>): string | null {
  const value = propertyOf(object, "driver")?.value;
  return value?.type === "StringLiteral" && Object.hasOwn(drivers, value.value) ? value.value : null;
}

/** Imports names from their new module. For types, and for imports in any other form, only the source changes. */
export function movingImports(from: string, to: string): Edit {
  return (code) => {
    let own = code;
    for (;;) {
      const old = own.program.body.find(
        (one): one is ImportDeclaration => one.type === "ImportDeclaration" && one.source.value === from,
      );
      if (old === undefined) return own;
      const names = old.importKind === "type" ? [null] : old.specifiers.map(plainName);
      if (names.length === 0 || names.includes(null)) {
        own = own.with({ at: old.source.start! + 1, until: old.source.end! - 1, text: to });
        continue;
      }
      const end = own.lineEnd(old.end!);
      const isLast = end >= own.text.length;
      own = own.with({ at: old.start!, until: isLast ? end : own.text.indexOf("\n", end) + 1, text: "" });
      for (const name of names) {
        const imported = importing(own, name!, to);
        if (imported === null) return null;
        own = imported;
      }
    }
  };
}

/** The name of a value that is imported without renaming; `null` for any other form. */
function plainName(one: ImportDeclaration["specifiers"][number]): string | null {
  const isPlain = one.type === "ImportSpecifier" && one.importKind !== "type" && one.imported.type === "Identifier";
  return isPlain && one.local.name === (one.imported as { name: string }).name ? one.local.name : null;
}

/** Changes nothing. If a removed value is imported, leaves the change to the author. */
export function unlessImported(name: string, from: string): Edit {
  return (code) => ([...importsOf(code).values()].some((one) => one.name === name && one.from === from) ? null : code);
}

/** Renames a package's export in imports. The local name in the file stays. */
export function renamingImport(from: string, before: string, after: string): Edit {
  return (code) => {
    for (const statement of code.program.body) {
      if (statement.type !== "ImportDeclaration" || statement.source.value !== from) continue;
      for (const one of statement.specifiers) {
        if (one.type !== "ImportSpecifier" || one.imported.type !== "Identifier" || one.imported.name !== before)
          continue;
        const isSame = one.local.name === before;
        return code.with({
          at: one.imported.start!,
          until: one.imported.end!,
          text: isSame ? `${after} as ${before}` : after,
        });
      }
    }
    return code;
  };
}

/**
 * Replaces calls of a package's function with something else, such as `new SigningKey(…)` or `Csrf.token(…)`, whose
 * first name the package exports too. Leaves it to the author if the file already uses that name, or uses the function
 * in another way.
 */
export function replacingCalls({ name, from }: Imported, by: string): Edit {
  const after = by.replace(/^new /, "").split(".")[0]!;
  return (code) => {
    const imports = code.program.body.filter((one): one is ImportDeclaration => one.type === "ImportDeclaration");
    const specifiers = imports.flatMap((one) => one.specifiers);
    const old = imports
      .filter(({ source }) => source.value === from)
      .flatMap((one) => one.specifiers)
      .find((one) => one.type === "ImportSpecifier" && (one.imported as { name?: string }).name === name);
    if (old === undefined) return code;
    const isTaken = specifiers.some(({ local }) => local.name === after) || isUsed(code, after);
    const { local } = old;
    const nodes = [...nodesIn(code.program)];
    const uses = nodes.filter((node) => node.type === "Identifier" && node.name === local.name).length;
    const callees = nodes.flatMap((node) => {
      const isCall = node.type === "CallExpression" && node.callee.type === "Identifier";
      return isCall && (node.callee as { name?: string }).name === local.name ? [node.callee] : [];
    });
    const inImport = nodesIn(old);
    const others =
      uses - callees.length - [...inImport].filter((node) => (node as { name?: string }).name === local.name).length;
    if (isTaken || others > 0) return null;
    return code.with(
      { at: old.start!, until: old.end!, text: after },
      ...callees.map(({ start, end }) => ({ at: start!, until: end!, text: by })),
    );
  };
}

/** Renames a method in calls without arguments on a new route: `Route.get(…).answersJson()`. */
export function renamingRouteMethod(before: string, after: string): Edit {
  return (code) => {
    if (![...importsOf(code).values()].some(({ name, from }) => name === "Route" && from === "ashlar")) return code;
    const insertions: Insertion[] = [];
    for (const node of nodesIn(code.program)) {
      if (node.type !== "CallExpression" || node.callee.type !== "MemberExpression") continue;
      const { property } = node.callee;
      if (property.type !== "Identifier" || property.name !== before || node.arguments.length > 0) continue;
      insertions.push({ at: property.start!, until: property.end!, text: after });
    }
    return insertions.length === 0 ? code : code.with(...insertions);
  };
}

function objectsAt(code: Code, [variable, ...keys]: SettingPath): ObjectExpression[] {
  const value = initialValueOf(code, variable);
  return keys.reduce<ObjectExpression[]>(
    (objects, key) => objects.flatMap((object) => membersOf(object, key)),
    value?.type === "ObjectExpression" ? [value] : [],
  );
}

function membersOf(object: ObjectExpression, key: string): ObjectExpression[] {
  const all = key === "*" ? object.properties : [propertyOf(object, key)];
  return all.flatMap((one) => {
    const value = one?.type === "ObjectProperty" ? bare(one.value) : null;
    return value?.type === "ObjectExpression" ? [value] : [];
  });
}
