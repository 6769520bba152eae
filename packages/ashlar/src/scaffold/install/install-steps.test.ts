import { expect, test } from "vitest";
import { folderWith } from "../../../test/support/temporary-folder.ts";
import type { ApplicationTraits } from "../files/stub-files.ts";
import { linesForMixin, stepsFor } from "./install-steps.ts";
import { applySteps } from "./steps.ts";

const IMPORTS = 'import { compose, Model } from "ashlar/database";\n';

/** The line for a mixin in an application with this `app/models/user.ts`. */
async function lineFor(name: string, text: string, model = "User"): Promise<string | undefined> {
  const root = folderWith({ "app/models/user.ts": text });
  const { lines } = await linesForMixin(root, name === "MustVerifyEmail" ? "pages" : "api", { name, model });
  return lines.at(-1);
}

test("a missing mixin is added to the class's mixins, after its requirements", async () => {
  const verified = `${IMPORTS}export class User extends compose(Model, Authenticates, MustVerifyEmail) {}`;
  const tokens = `${IMPORTS}export class User extends compose(Model, Authenticates, AuthenticatesTokens, Audited) {}`;
  const bare = `${IMPORTS}export class User extends Model {}`;
  const late = `${IMPORTS}export class User extends compose(Model, MustVerifyEmail) {}`;
  for (const [name, text, composed] of [
    ["AuthenticatesTokens", verified, "compose(Model, Authenticates, MustVerifyEmail, AuthenticatesTokens)"],
    ["MustVerifyEmail", tokens, "compose(Model, Authenticates, AuthenticatesTokens, Audited, MustVerifyEmail)"],
    ["Authenticates", bare, "compose(Model, Authenticates)"],
    ["Authenticates", late, "compose(Model, Authenticates, MustVerifyEmail)"],
  ] as const) {
    expect(await lineFor(name, text)).toBe(`// add the mixin to the class: ${composed}`);
  }
});

test("only the missing mixin is named if the class's own can't be read", async () => {
  const named = "// add the mixin to the class: MustVerifyEmail";
  expect(await lineFor("MustVerifyEmail", "export const User = made();")).toBe(named);
  expect(await lineFor("MustVerifyEmail", "class {")).toBe(named);
  expect(await lineFor("MustVerifyEmail", `${IMPORTS}export class User extends Model {}`, "Member")).toBe(named);
});

test("the installation prints a mixin that it can't add with those that the class has", async () => {
  const printed = async (text: string) => {
    const root = folderWith({ "app/models/user.ts": text });
    const steps = stepsFor("pages", { verification: true } as ApplicationTraits).filter(
      (step) => "adds" in step && step.adds === "MustVerifyEmail",
    );
    const { remaining } = await applySteps(root, steps);
    return remaining.flatMap(({ lines }) => lines);
  };
  const line = 'import { MustVerifyEmail } from "ashlar/auth";';
  // The name stands for something else in these files.
  const taken = `${IMPORTS}const MustVerifyEmail = 1;\n`;
  const own = `${taken}export class User extends compose(Model, Authenticates, Audited) {}`;
  expect(await printed(own)).toEqual([
    line,
    "// add the mixin to the class: compose(Model, Authenticates, Audited, MustVerifyEmail)",
  ]);
  const named = [line, "// add the mixin to the class: MustVerifyEmail"];
  expect(await printed(`${taken}export class User extends made() {}`)).toEqual(named);
  expect(await printed("class {")).toEqual(named);
});
