import type { StepAddition } from "../../boot/index.ts";
import { adding } from "../edits/adding.ts";
import { Code } from "../edits/code.ts";
import { javaScriptOf, readIfThere } from "../files/existing-files.ts";
import { fileOf } from "../files/stub-files.ts";
import type { PlannedFile } from "./install.ts";
import type { RemainingStep } from "./steps.ts";

/** The stubs of the mail about a reused refresh token, by the resulting file. */
const FILES = {
  "app/mailables/token-reused-mail.ts": "tokens/token-reused-mail.ts",
  "views/mails/token_reused.html.edge": "tokens/token_reused.html.edge",
  "views/mails/token_reused.text.edge": "tokens/token_reused.text.edge",
};

const SETTINGS = "config/auth.ts";
const CLASS = { name: "TokenReusedMail", from: "../app/mailables/token-reused-mail.ts" };
const PROPERTY = "tokenReused: TokenReusedMail";
const ADDITION: StepAddition = { imports: [CLASS], to: ["ACCOUNTS", "mailables"], text: PROPERTY };
const LINES = [`import { ${CLASS.name} } from "${CLASS.from}";`, "// in ACCOUNTS.mailables:", `${PROPERTY},`];

/**
 * Adds the mail about a reused refresh token, with the layout of the other mails. Only users with several tokens have
 * refresh tokens.
 *
 * @param files the plan so far, which is changed
 * @returns the lines that the author has to add
 */
export async function withReusedMail(root: string, files: PlannedFile[]): Promise<RemainingStep[]> {
  for (const [path, stub] of Object.entries(FILES)) {
    if ((await readIfThere(root, path)) !== null || (await javaScriptOf(root, path)) !== null) continue;
    files.push({ ...(await fileOf(path, stub, {})), before: null, isInTheWay: false });
  }
  const path = (await javaScriptOf(root, SETTINGS)) ?? SETTINGS;
  const index = files.findIndex((file) => file.path === path);
  const before = await readIfThere(root, path);
  const text = files[index]?.text ?? before;
  if (text === null || /\btokenReused\s*:/.test(text)) return [];
  const after = await withProperty(text, path);
  if (after === null) return [{ file: path, lines: LINES }];
  const planned = { path, text: after, before, isInTheWay: files[index]?.isInTheWay ?? false };
  if (index === -1) files.push(planned);
  else files[index] = planned;
  return [];
}

/** The settings file with the mail added; `null` if it can't be added. */
async function withProperty(text: string, file: string): Promise<string | null> {
  try {
    return adding(ADDITION)(await Code.of(text, file))?.text ?? null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}
