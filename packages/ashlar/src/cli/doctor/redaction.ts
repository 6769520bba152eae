import type { Finding } from "./finding.ts";
import { decoded, secretsOf } from "./secrets-of.ts";
import type { Subject } from "./subject.ts";

/** Names of variables that other code uses for passwords, keys or tokens. */
const SECRET_NAME = /(?:^|_)(?:KEYS?|SECRETS?|PASS(?:WORD)?|TOKEN|CREDENTIALS?)$/;
/** Shorter secrets may occur in ordinary words by chance. */
const MIN_LENGTH = 4;
/** Shorter secrets are redacted only as separate words, and never in a command. */
const MIN_INNER_LENGTH = 12;
/** Variables that are quoted in errors, and that may contain a secret pasted by mistake. */
const QUOTED = ["APP_ENV", "NODE_ENV", "LOG_LEVEL", "HOST", "PORT", "SMTP_PORT", "TRUSTED_PROXIES"];
const ADDRESS = /^[\da-f.:]*[.:][\da-f.:]*(?:\/\d{1,3})?$/i;
const HOST = /^[a-z\d-]+(?:\.[a-z\d-]+)+$/;

/** A text that must not be printed, and its replacement. */
interface Form {
  readonly text: string;
  readonly name: string;
}

/**
 * Replaces secrets in findings by their variables' names. Findings quote other code's errors, which may contain a
 * secret unchanged, URL-encoded, or in base64 as sent to a mail server.
 */
export function redactionFor(subject: Subject): (finding: Finding) => Finding {
  const forms = formsOf(subject);
  const inText = replacing(forms);
  // A short secret may be a word of the command, which must not change.
  const inRemedy = replacing(forms.filter(({ text }) => text.length >= MIN_INNER_LENGTH));
  return (finding) => {
    const { run, lines, remove, note, file } = finding.remedy;
    const remedy = {
      run: run === null ? null : inRemedy(run),
      file,
      lines: lines.map(inRemedy),
      remove,
      note: note === null ? null : inRemedy(note),
    };
    return { ...finding, problem: inText(finding.problem), remedy };
  };
}

function formsOf(subject: Subject): Form[] {
  const { variables } = subject;
  const { smtp } = subject.settings("mail", "MAIL") as { readonly smtp?: Readonly<Record<string, unknown>> };
  const user = textOf(smtp?.user) || (variables.SMTP_USER ?? "");
  const password = textOf(smtp?.password) || (variables.SMTP_PASSWORD ?? "");
  const secrets: Form[] = [
    ...secretsOf(subject).map(({ name, value }) => ({ name, text: value })),
    ...Object.entries(variables).flatMap(([name, value = ""]) => secretsIn(name, value)),
    { name: "SMTP_PASSWORD", text: password },
    ...QUOTED.flatMap((name) => pastedInto(name, variables[name] ?? "")),
  ];
  const login = password === "" ? [] : [`\0${user}\0${password}`, `${user}\0${user}\0${password}`];
  const forms = [
    ...secrets.filter(({ text }) => text.length >= MIN_LENGTH).flatMap(encodingsOf),
    ...login.flatMap((text) => base64Of({ name: "SMTP_PASSWORD", text })),
    ...(user.length < MIN_LENGTH ? [] : base64Of({ name: "SMTP_USER", text: user })),
  ];
  // Longest first, so that no part of a secret remains.
  return forms
    .filter(({ text }) => text.length >= MIN_LENGTH)
    .sort((one, other) => other.text.length - one.text.length);
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** The value of a variable that is named like a secret, or the password in an address. */
function secretsIn(name: string, value: string): Form[] {
  if (SECRET_NAME.test(name)) return [{ name, text: value }];
  // Also the password as written, because an invalid address can't be parsed.
  const written = /^[\w+.-]+:\/\/[^:/?#@\s]*:(.+)@/.exec(value)?.[1] ?? "";
  const password = URL.parse(value)?.password ?? "";
  return [written, password, decoded(written)].map((text) => ({ name, text }));
}

/**
 * The value of a variable, if it looks like a secret pasted by mistake. A mistyped address or name is short, and
 * quoted.
 */
function pastedInto(name: string, value: string): Form[] {
  const entries = name === "TRUSTED_PROXIES" ? value.split(",").map((entry) => entry.trim()) : [value.trim()];
  return entries
    .filter((entry) => entry.length >= MIN_INNER_LENGTH && !ADDRESS.test(entry) && !HOST.test(entry))
    .flatMap((entry) => [entry, entry.toLowerCase()])
    .map((text) => ({ name, text }));
}

function encodingsOf({ name, text }: Form): Form[] {
  const quoted = JSON.stringify(text).slice(1, -1);
  // encodeURIComponent() can't encode half a character.
  const plain = [text, quoted, encodeURIComponent(text.toWellFormed())].map((form) => ({ name, text: form }));
  return [...plain, ...base64Of({ name, text })];
}

function base64Of({ name, text }: Form): Form[] {
  const encoded = Buffer.from(text);
  const padded = encoded.toString("base64");
  return [padded, padded.replace(/=+$/, ""), encoded.toString("base64url")].map((form) => ({ name, text: form }));
}

function replacing(forms: readonly Form[]): (text: string) => string {
  if (forms.length === 0) return (text) => text;
  const names = new Map(forms.toReversed().map(({ name, text }) => [text, name]));
  const pattern = new RegExp(forms.map(({ text }) => patternOf(text)).join("|"), "gu");
  return (text) => text.replace(pattern, (found) => `[${names.get(found)}]`);
}

function patternOf(text: string): string {
  const exact = text.toWellFormed().replaceAll(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
  return text.length < MIN_INNER_LENGTH ? `(?<![\\p{L}\\p{N}])${exact}(?![\\p{L}\\p{N}])` : exact;
}
