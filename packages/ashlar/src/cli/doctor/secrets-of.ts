import { splitSecrets } from "../../security/index.ts";
import { pemBlocks } from "../../security/jwt/index.ts";
import type { Subject } from "./subject.ts";

/** A secret of an application. */
export interface Secret {
  /** The variable that holds it. */
  readonly name: string;
  /** Its value; never printed. */
  readonly value: string;
  /** Whether the framework's commands create it. */
  readonly isGenerated: boolean;
}

const GENERATED = ["APP_KEY", "JWT_SECRET"];
/** A shorter text may be anywhere by chance. */
const MIN_SEARCHED_LENGTH = 12;

/** The secrets of an application that are set. */
export function secretsOf(subject: Subject): Secret[] {
  const secrets = [
    ...GENERATED.map((name) => ({ name, value: secretOf(subject, name) ?? "", isGenerated: true })),
    ...previousKeysOf(subject).map((value) => ({ name: "APP_PREVIOUS_KEYS", value, isGenerated: false })),
    { name: "APP_NEXT_KEY", value: nextKeyOf(subject), isGenerated: false },
    ...privateKeysOf(subject),
    { name: "SMTP_PASSWORD", value: subject.variables.SMTP_PASSWORD ?? "", isGenerated: false },
    { name: "DATABASE_URL", value: passwordIn(subject.variables.DATABASE_URL ?? ""), isGenerated: false },
  ];
  return secrets.filter(({ value }) => value !== "");
}

/** The secrets that are long enough to be looked for in files. */
export function searchedSecretsOf(subject: Subject): Secret[] {
  return secretsOf(subject).filter(({ value }) => value.length >= MIN_SEARCHED_LENGTH && !/[\r\n]/.test(value));
}

/** The value of `APP_KEY` or `JWT_SECRET`, as the configuration reads it. */
export function secretOf(subject: Subject, name: string): string | undefined {
  const { key } = subject.app;
  const { jwt } = subject.settings("api", "DRIVERS") as { readonly jwt?: { readonly secret?: unknown } };
  const configured = name === "APP_KEY" ? key : name === "JWT_SECRET" ? jwt?.secret : undefined;
  return typeof configured === "string" && configured !== "" ? configured : subject.variables[name];
}

/** The private keys in PEM in `.env`, each by a line of its own: the rest is the same for all keys of its kind. */
function privateKeysOf({ variables }: Subject): Secret[] {
  return Object.entries(variables).flatMap(([name, value]) => {
    const lines = pemBlocks(value ?? "").flatMap((pem) => (pem.includes("PRIVATE KEY-----") ? [pem.split("\n")] : []));
    return lines.map((pem) => ({ name, value: pem.at(pem.length > 5 ? 2 : 1)!, isGenerated: false }));
  });
}

/** The previous keys, as the configuration reads them. */
export function previousKeysOf(subject: Subject): string[] {
  const { previousKeys } = subject.app;
  const listed = Array.isArray(previousKeys)
    ? previousKeys.filter((one) => typeof one === "string")
    : splitSecrets(subject.variables.APP_PREVIOUS_KEYS ?? "");
  return listed.filter((one) => one !== "");
}

/** The staged key, as the configuration reads it. */
function nextKeyOf({ app, variables }: Subject): string {
  const { nextKey } = app;
  return typeof nextKey === "string" && nextKey !== "" ? nextKey : (variables.APP_NEXT_KEY ?? "");
}

function passwordIn(url: string): string {
  return decoded(URL.parse(url)?.password ?? "");
}

/** A part of an address without its percent-encoding; as it is, if it isn't encoded. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** What replaces a generated secret: emptying its line, and the command that fills it in. */
export function replacing(subject: Subject, name: string): { in: string; lines: string[]; run: string; note?: string } {
  const made = { in: ".env", lines: [`${name}=`], run: "npx ashlar key:generate" };
  if (!subject.isSetOutside(name)) return made;
  return { ...made, note: `${name} is set outside of .env, which wins: change it there, or remove it there.` };
}
