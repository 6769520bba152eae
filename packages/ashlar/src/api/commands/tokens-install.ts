import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { CommandContext, PublishedFiles } from "../../boot/index.ts";
import { PACKAGE_FOLDER } from "../../support/index.ts";

const STUBS = join(PACKAGE_FOLDER, "stubs/tokens");
const CONTROLLER = "app/controllers/auth/personal-tokens-controller.ts";
const VIEW = "views/auth/personal_tokens.edge";
const MAIL = "app/mailables/token-created-mail.ts";
/** The views of the mail. */
const MAIL_VIEWS = ["token_created.html.edge", "token_created.text.edge"];
/** The layout of the account pages. */
const LAYOUT = "views/layouts/main.edge";

type Step = NonNullable<PublishedFiles["steps"]>[number];

/** `tokens:install`: adds the table of personal tokens and the page for them, and what puts them to use. */
export async function run({ root, publish }: CommandContext): Promise<void> {
  const hasPages = existsSync(join(root, LAYOUT));
  const files = hasPages
    ? {
        [CONTROLLER]: await stub("personal-tokens-controller.ts"),
        [VIEW]: await stub("personal_tokens.edge"),
        [MAIL]: await stub("token-created-mail.ts"),
        ...Object.fromEntries(
          await Promise.all(MAIL_VIEWS.map(async (name) => [`views/mails/${name}`, await stub(name)] as const)),
        ),
      }
    : { [CONTROLLER]: await stub("personal-tokens-controller.json.ts") };
  await publish({
    files,
    migrations: { create_personal_tokens: await stub("create_personal_tokens.ts") },
    steps: await stepsOf(root, hasPages),
  });
}

async function stepsOf(root: string, hasPages: boolean): Promise<NonNullable<PublishedFiles["steps"]>> {
  const kernel = await readFile(join(root, "app/kernel.ts"), "utf8").catch(() => "");
  const user = await readFile(join(root, "app/models/user.ts"), "utf8").catch(() => null);
  // Users whose address is not verified may have entered someone else's. Where no address ever is, no one would come through.
  const verifies = user === null || /\b(?:MustVerifyEmail|hasVerifiedEmail)\b/.test(user);
  const verified = verifies && /\bverified\s*:/.test(kernel) ? '.middleware("verified")' : "";
  const options = hasPages ? "" : ", { json: true }";
  const routes = `...Api.personalTokens(PersonalTokensController${options})${verified}`;
  return [
    {
      file: "config/api.ts",
      done: /\bpersonal:\s*personal\(/,
      lines: ['import { personal } from "ashlar/api";', "// in DRIVERS.jwt:", "personal: personal(),"],
      adds: {
        imports: [{ name: "personal", from: "ashlar/api" }],
        to: ["DRIVERS", "jwt"],
        text: "personal: personal()",
      },
    },
    {
      file: "routes/web.ts",
      done: /\bApi\.personalTokens\(/,
      lines: [
        'import { Api } from "ashlar/api";',
        'import { PersonalTokensController } from "../app/controllers/auth/personal-tokens-controller.ts";',
        "// in ROUTES:",
        `${routes},`,
      ],
      adds: {
        imports: [
          { name: "Api", from: "ashlar/api" },
          { name: "PersonalTokensController", from: "../app/controllers/auth/personal-tokens-controller.ts" },
        ],
        to: ["ROUTES"],
        text: routes,
      },
    },
    ...(hasPages ? [MAIL_STEP] : []),
  ];
}

/** The mail about a new token, with the layout of the other mails. */
const MAIL_STEP: Step = {
  file: "config/auth.ts",
  done: /\btokenCreated\s*:/,
  lines: [
    'import { TokenCreatedMail } from "../app/mailables/token-created-mail.ts";',
    "// in ACCOUNTS.mailables:",
    "tokenCreated: TokenCreatedMail,",
  ],
  adds: {
    imports: [{ name: "TokenCreatedMail", from: "../app/mailables/token-created-mail.ts" }],
    to: ["ACCOUNTS", "mailables"],
    text: "tokenCreated: TokenCreatedMail",
  },
};

function stub(name: string): Promise<string> {
  return readFile(join(STUBS, `${name}.stub`), "utf8");
}
