import type { ClassDeclaration } from "@babel/types";
import { type Code, rangeOf } from "./code.ts";
import { classesOf } from "./declarations.ts";
import type { Edit } from "./edits.ts";
import { importsOf, nameOf, usesImport, withNew } from "./imports.ts";
import { withItem } from "./lists.ts";

/** Adds a mixin to the user model. */
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

/**
 * Adds `override` to a static property of the user model, if there is one. TypeScript requires it if a mixin has that
 * property too.
 */
export function overriding(name: string): Edit {
  return (code) => {
    const property = userOf(code)?.body.body.find(
      (one) => one.type === "ClassProperty" && one.static && one.key.type === "Identifier" && one.key.name === name,
    );
    if (property?.type !== "ClassProperty" || property.override === true || !code.isTypeScript) return code;
    return code.with({ at: property.key.start!, text: "override " });
  };
}

/** The classes and mixins that the user model is composed of, as written, beginning with `Model`. */
export interface Composition {
  readonly className: string;
  readonly parts: readonly string[];
}

/**
 * Returns the classes and mixins that the user model is composed of; `null` if the code's structure isn't recognized.
 */
export function compositionOf(code: Code): Composition | null {
  const user = userOf(code);
  if (!user?.id) return null;
  const parent = user.superClass!;
  const parts = parent.type === "CallExpression" ? parent.arguments : [parent];
  return { className: user.id.name, parts: parts.map((one) => code.textOf(one)) };
}

/** The user model: `User`, or else the only class that extends `Model` or a composition beginning with `Model`. */
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
