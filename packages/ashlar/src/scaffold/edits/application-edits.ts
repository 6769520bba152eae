import type { CallExpression, ObjectExpression } from "@babel/types";
import { bare, type Code, nodesIn } from "./code.ts";
import { initialValueOf, withProperty } from "./declarations.ts";
import type { Edit } from "./edits.ts";
import { importsOf, nameOf } from "./imports.ts";

/** The call of `createApplication` in a file; `null` if there isn't exactly one. */
export function creationIn(code: Code): CallExpression | null {
  const imports = importsOf(code);
  const calls: CallExpression[] = [];
  for (const node of nodesIn(code.program)) {
    if (node.type === "CallExpression" && nameOf(node.callee, imports) === "createApplication") calls.push(node);
  }
  return calls.length === 1 ? calls[0]! : null;
}

/** The object literal with the application's options; `null` if it isn't in this file. */
export function optionsOf(code: Code, { arguments: [options] }: CallExpression): ObjectExpression | null {
  if (options === undefined) return null;
  const value = bare(options);
  const object = value.type === "Identifier" ? initialValueOf(code, value.name) : value;
  return object?.type === "ObjectExpression" ? object : null;
}

/** Adds options at the start of those in the call of `createApplication`. */
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

/** Makes the application the default export. Replaces `….listen(…)` if it is a separate statement. */
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
