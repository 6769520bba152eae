import type { CheckContext } from "../../boot/index.ts";

const LONG_DAYS = 90;
const LONG_MINUTES = LONG_DAYS * 24 * 60;

/** The settings of a lifetime, each with the minutes that a finding suggests. */
const SUGGESTED = { absoluteMinutes: 1440, rememberMinutes: 43_200 } as const;

/** Checks how long links, logins and sessions last. */
export function run(context: CheckContext): void {
  const guards = context.settings("auth", "GUARDS") ?? {};
  if (guards.passwordResetExpiration === null) {
    const problem = "Links to set a password never expire: an old mail gives access to the account.";
    const lines = ["// in GUARDS:", "passwordResetExpiration: 1440,"];
    context.warning("links.immortal", { file: "config/auth.ts", problem, lines });
  }
  for (const [name, guard] of Object.entries(guards)) {
    warnOfLongLife(context, { file: "config/auth.ts", where: `GUARDS.${name}`, what: "Logins" }, guard);
  }
  const { absoluteMinutes } = context.settings("session", "SESSION") ?? {};
  warnOfLongLife(context, { file: "config/session.ts", where: "SESSION", what: "Sessions" }, { absoluteMinutes });
}

function warnOfLongLife(
  { warning }: CheckContext,
  { file, where, what }: { readonly file: string; readonly where: string; readonly what: string },
  options: unknown,
): void {
  const given = Object(options) as Readonly<Record<string, unknown>>;
  for (const [setting, minutes] of Object.entries(SUGGESTED)) {
    if (!(Number(given[setting]) > LONG_MINUTES)) continue;
    const problem = `${where}.${setting} is more than ${LONG_DAYS} days. ${what} on a lost device last that long.`;
    warning("logins.long", { file, problem, lines: [`// in ${where}:`, `${setting}: ${minutes},`] });
  }
}
