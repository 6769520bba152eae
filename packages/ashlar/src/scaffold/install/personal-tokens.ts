import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { PublishedFiles } from "../../boot/index.ts";
import { AshlarError } from "../../support/index.ts";
import {
  addingStep,
  hasAccountPages,
  mailableStep,
  type PublishedStep,
  publishedStubs,
  routesStep,
} from "./published-stubs.ts";

const API_SETTINGS = "config/api.ts";
const CONTROLLER = "app/controllers/auth/personal-tokens-controller.ts";
/** Lets users through who have no second factor, or whose login was proved by two. */
export const TWO_FACTOR = "two-factor:own";
/** The stubs, by the paths of the resulting files. */
const WITHOUT_PAGES: Readonly<Record<string, string>> = { [CONTROLLER]: "personal-tokens-controller.json.ts" };
const WITH_PAGES: Readonly<Record<string, string>> = {
  [CONTROLLER]: "personal-tokens-controller.ts",
  "views/auth/personal_tokens.edge": "personal_tokens.edge",
  "app/mailables/token-created-mail.ts": "token-created-mail.ts",
  "views/mails/token_created.html.edge": "token_created.html.edge",
  "views/mails/token_created.text.edge": "token_created.text.edge",
};

/**
 * The files that personal tokens need: the migration for their table, their page, and the mail about new ones. It also
 * includes the steps that turn personal tokens on in the author's files.
 *
 * @throws `E_COMMAND` if the application has no API
 */
export async function personalTokenFiles(root: string): Promise<PublishedFiles> {
  if (!existsSync(join(root, API_SETTINGS))) {
    throw new AshlarError("E_COMMAND", "The application has no API tokens. To add them: npx ashlar api:install");
  }
  const hasPages = hasAccountPages(root);
  return {
    files: await publishedStubs("tokens", hasPages ? WITH_PAGES : WITHOUT_PAGES),
    migrations: await publishedStubs("tokens", { create_personal_tokens: "create_personal_tokens.ts" }),
    steps: await stepsOf(root, hasPages),
  };
}

async function stepsOf(root: string, hasPages: boolean): Promise<readonly PublishedStep[]> {
  const kernel = await readFile(join(root, "app/kernel.ts"), "utf8").catch(() => "");
  const user = await readFile(join(root, "app/models/user.ts"), "utf8").catch(() => null);
  // Users who haven't verified their address may have entered another person's. In an application that doesn't verify
  // addresses, the middleware would refuse every user.
  const verifies = user === null || /\b(?:MustVerifyEmail|hasVerifiedEmail)\b/.test(user);
  const names = [
    ...(verifies && /\bverified\s*:/.test(kernel) ? ["verified"] : []),
    // A token outlasts the login that makes it, so users with a second factor give it first, on a trusted device too.
    ...(/"two-factor"\s*:/.test(kernel) ? [TWO_FACTOR] : []),
  ];
  const middleware = names.length === 0 ? "" : `.middleware(${names.map((name) => JSON.stringify(name)).join(", ")})`;
  const options = hasPages ? "" : ", { json: true }";
  const routes = `...Api.personalTokens(PersonalTokensController${options})${middleware}`;
  return [
    addingStep({
      file: API_SETTINGS,
      done: /\bpersonal:\s*personal\(/,
      imports: [{ name: "personal", from: "ashlar/api" }],
      place: "in DRIVERS.jwt",
      to: ["DRIVERS", "jwt"],
      text: "personal: personal()",
    }),
    routesStep(routes, /\bApi\.personalTokens\(/, [
      { name: "Api", from: "ashlar/api" },
      { name: "PersonalTokensController", from: "../app/controllers/auth/personal-tokens-controller.ts" },
    ]),
    ...(hasPages ? [MAIL_STEP] : []),
  ];
}

const MAIL_STEP = mailableStep("tokenCreated", "TokenCreatedMail", "../app/mailables/token-created-mail.ts");
