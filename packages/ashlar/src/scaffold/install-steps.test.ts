import { expect, test } from "vitest";
import { folderWith } from "../../test/support/temporary-folder.ts";
import { linesForMixin } from "./install-steps.ts";

const IMPORTS = 'import { compose, Model } from "ashlar/database";\n';

/** The line for a mixin in an application with this `app/models/user.ts`. */
async function lineFor(name: string, text: string, model = "User"): Promise<string | undefined> {
  const root = folderWith({ "app/models/user.ts": text });
  const { lines } = await linesForMixin(root, name === "MustVerifyEmail" ? "pages" : "api", { name, model });
  return lines.at(-1);
}

test("a missing mixin is added to those that the class has, after what it needs", async () => {
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
