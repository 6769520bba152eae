import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AshlarError } from "../support/index.ts";
import { type NewFile, withLineEndsOf, writeNewFile } from "./files.ts";
import { migrationPaths, migrationsMention } from "./make.ts";
import { spell } from "./names.ts";
import { codeOf, type RemainingStep, readIfThere, remainingSteps, type Step } from "./remaining-steps.ts";
import { readStub } from "./stub.ts";
import { type ApplicationTraits, looks, pages, wiring } from "./stub-files.ts";
import { unifiedDiff } from "./unified-diff.ts";

/** A file that the pages need, and what is in its place. */
export interface PlannedFile extends NewFile {
  /** What the file holds now; `null` where there is none. */
  readonly before: string | null;
  /** Whether somebody has written it, or changed it since it was made: it is replaced only when forced. */
  readonly isInTheWay: boolean;
}

/** What putting the pages of accounts into an application comes to. */
export interface AuthPlan {
  /** The files to write; those that are there as they would be written are left out. */
  readonly files: readonly PlannedFile[];
  /** What cannot be written without touching the author's own lines. */
  readonly remaining: readonly RemainingStep[];
}

const provider = (name: string, from: string, place: string): Step => ({
  file: "config/providers.ts",
  done: new RegExp(`\\b${name}\\b`),
  lines: [`import { ${name} } from "${from}";`, `// in PROVIDERS, ${place}:`, `${name},`],
});

const middleware = (key: string, name: string, from: string): Step => ({
  file: "app/kernel.ts",
  done: new RegExp(`(?<![\\w.])["']?${key.replace(".", "\\.")}["']?\\s*:`),
  lines: [
    `import { ${name} } from "${from}";`,
    "// in routeMiddleware:",
    `${/\W/.test(key) ? `"${key}"` : key}: [${name}],`,
  ],
});

const STEPS: readonly Step[] = [
  provider("EventProvider", "ashlar/events", "after DatabaseProvider"),
  provider("ViewProvider", "ashlar/views", "after EventProvider"),
  provider("SessionProvider", "ashlar/session", "after ViewProvider"),
  provider("ThrottleProvider", "ashlar/throttle", "after SessionProvider"),
  provider("MailProvider", "ashlar/mail", "after ThrottleProvider"),
  {
    file: "app/kernel.ts",
    done: /\bweb\s*:\s*\[[^\]]*\bVerifyCsrfToken\b/,
    lines: [
      'import { SecurityHeadersMiddleware } from "ashlar";',
      'import { LoadUserMiddleware } from "ashlar/auth";',
      'import { SessionMiddleware, VerifyCsrfToken } from "ashlar/session";',
      "// in routeMiddleware, in this order:",
      "web: [SecurityHeadersMiddleware, SessionMiddleware, LoadUserMiddleware, VerifyCsrfToken],",
    ],
  },
  middleware("auth", "AuthenticationMiddleware", "ashlar/auth"),
  middleware("auth.page", "AuthPageMiddleware", "ashlar/auth"),
  middleware("password.confirm", "ConfirmPasswordMiddleware", "ashlar/auth"),
  middleware("verified", "VerifiesEmailMiddleware", "ashlar/auth"),
  middleware("throttle", "ThrottleMiddleware", "ashlar/throttle"),
  {
    file: "app/models/user.ts",
    done: /\bMustVerifyEmail\b/,
    lines: [
      'import { MustVerifyEmail } from "ashlar/auth";',
      "// add the mixin to the class: compose(Model, Authenticates, MustVerifyEmail)",
    ],
  },
  {
    file: "config/auth.ts",
    done: /\bweb\s*:/,
    lines: ["// in GUARDS:", 'default: "web",', "web: { model: User },"],
  },
  {
    file: "config/auth.ts",
    done: /\bACCOUNTS\b/,
    lines: [
      'import { EmailChangeCompletedMail } from "../app/mailables/email-change-completed-mail.ts";',
      'import { EmailChangeUndoneMail } from "../app/mailables/email-change-undone-mail.ts";',
      'import { EmailChangedMail } from "../app/mailables/email-changed-mail.ts";',
      'import { EmailTakenMail } from "../app/mailables/email-taken-mail.ts";',
      'import { NewDeviceMail } from "../app/mailables/new-device-mail.ts";',
      'import { PasswordChangedMail } from "../app/mailables/password-changed-mail.ts";',
      'import { ResetPasswordMail } from "../app/mailables/reset-password-mail.ts";',
      'import { VerifyEmailMail } from "../app/mailables/verify-email-mail.ts";',
      "export const ACCOUNTS = {",
      "  mailables: {",
      "    verifyEmail: VerifyEmailMail,",
      "    resetPassword: ResetPasswordMail,",
      "    passwordChanged: PasswordChangedMail,",
      "    emailChanged: EmailChangedMail,",
      "    emailChangeCompleted: EmailChangeCompletedMail,",
      "    emailChangeUndone: EmailChangeUndoneMail,",
      "    emailTaken: EmailTakenMail,",
      "    newDevice: NewDeviceMail,",
      "  },",
      "};",
    ],
  },
  {
    file: "routes/web.ts",
    done: /\bAuth\.routes\(/,
    lines: [
      'import { Auth } from "ashlar/auth";',
      'import { AuthControllers } from "../app/controllers/auth/index.ts";',
      "// in ROUTES:",
      "...Auth.routes(AuthControllers),",
    ],
  },
];

/** The migrations of the pages, in the order they run in, and what each brings. */
const MIGRATIONS = [
  ["add_verified_at_to_users", "verified_at"],
  ["create_sessions", "sessions"],
  ["create_password_resets", "password_resets"],
  ["create_email_changes", "email_changes"],
] as const;

/** The column that tables made before it was known lack. */
const EPOCH = "access_epoch";

/**
 * Finds out what putting the pages of accounts into an application comes to. Nothing is written.
 *
 * A file that is still as it was made is replaced by the one with the pages; one that the author has changed is not:
 * what it lacks is among the steps that remain.
 *
 * @param root the application's folder
 * @throws `E_COMMAND` where there is no application in it
 */
export async function planAuth(root: string): Promise<AuthPlan> {
  const traits = await traitsOf(root);
  const wanted = [...(await pages(traits)), ...(await looks(traits)), ...(await migrations(root))];
  const planned = await Promise.all(wanted.map((file) => plan(root, file)));
  const wired = await planWiring(root, traits);
  const files = [...wired, ...planned].filter(({ before, text }) => before !== text);
  const written = new Set(wired.map(({ path }) => path));
  const steps = STEPS.filter(({ file }) => !written.has(file));
  return { files, remaining: await remainingSteps(root, steps) };
}

/**
 * Writes what was planned.
 *
 * @param force whether files that are in the way are replaced
 * @throws `E_COMMAND` where files are in the way; nothing is written then
 */
export async function writeAuth(root: string, { files }: AuthPlan, force: boolean): Promise<void> {
  const blocking = files.filter(({ isInTheWay }) => isInTheWay);
  if (blocking.length > 0 && !force) {
    throw new AshlarError(
      "E_COMMAND",
      `In the way, and different from what would be written:\n${blocking.map(({ path }) => `  ${path}`).join("\n")}\n` +
        "Nothing was written. --dry-run shows the differences; --force writes over these files.",
    );
  }
  for (const file of files) {
    if (!(await writeNewFile(root, file))) await writeFile(join(root, file.path), file.text);
  }
}

/** The plan as a difference, as `diff -u` prints it. */
export function diffOfPlan({ files }: AuthPlan): string[] {
  return files.flatMap(({ path, before, text }) => unifiedDiff(path, before, text));
}

async function plan(root: string, file: NewFile): Promise<PlannedFile> {
  const before = await readIfThere(root, file.path);
  const text = withLineEndsOf(before, file.text);
  return { path: file.path, text, before, isInTheWay: before !== null && before !== text };
}

/** The files that are to be with the pages what they are without, as far as they are still as they were made. */
async function planWiring(root: string, traits: ApplicationTraits): Promise<PlannedFile[]> {
  const made = new Map((await wiring({ ...traits, pages: false })).map(({ path, text }) => [path, text]));
  const files = await Promise.all(
    (await wiring(traits)).map(async (file) => ({ file, before: await readIfThere(root, file.path) })),
  );
  const unchanged = files.filter(({ file, before }) => {
    const texts = [file.text, made.get(file.path) ?? null];
    return texts.some((text) => before === (text === null ? null : withLineEndsOf(before, text)));
  });
  return unchanged.map(({ file: { path, text }, before }) => {
    return { path, text: withLineEndsOf(before, text), before, isInTheWay: false };
  });
}

async function migrations(root: string): Promise<NewFile[]> {
  const missing: string[] = [];
  for (const [name, brings] of MIGRATIONS) if (!(await migrationsMention(root, brings))) missing.push(name);
  if (!(await migrationsMention(root, EPOCH))) {
    missing.push(`add_${EPOCH}_to_users`);
    // A table of sessions that is made now has the column.
    if (!missing.includes("create_sessions")) missing.push(`add_${EPOCH}_to_sessions`);
  }
  const paths = await migrationPaths(root, missing);
  return Promise.all(
    missing.map(async (name, index) => ({
      path: paths[index]!,
      text: await readStub(`auth/migrations/${name}.ts`, {}),
    })),
  );
}

async function traitsOf(root: string): Promise<ApplicationTraits> {
  const manifest = await readIfThere(root, "package.json");
  if (manifest === null || (await readIfThere(root, "app.ts")) === null) {
    throw new AshlarError(
      "E_COMMAND",
      `There is no application in ${root}. Run the command in the application's folder.`,
    );
  }
  const { name = "application" } = JSON.parse(manifest) as { name?: string };
  const title = spell(name.replace(/^@[^/]*\//, "").replaceAll(/[^A-Za-z0-9]+/g, "-")).title;
  return { title, api: /\bApiProvider\b/.test(await codeOf(root, "config/providers.ts")), pages: true };
}
