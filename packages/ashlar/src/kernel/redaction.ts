import { stdSerializers } from "pino";
import { isSecretName } from "../support/index.ts";

/** What stands in the log instead of a secret. */
export const REDACTED = "[redacted]";

/** One field of a query or an urlencoded form, wherever in a text it stands. */
const FIELD = /([?&])([^=&\s"'<>]{1,256})=([^&#\s"'<>]+)/g;
/** RFC 7519: a token says what it is by how it begins, `{"` in base64url. */
const JWT = /\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*/g;

const MAX_DEPTH = 8;

/** How many objects of one line are looked into. An error may carry a request, and that the whole server. */
const MAX_OBJECTS = 200;

/**
 * The same data with each member that could be a secret blacked out by its name, at any depth: `password`,
 * `Authorization`, `api_token`, … Errors, and what they carry beside their message, are data too. In texts, such as URLs,
 * the secret fields of queries are blacked out as well, and JSON Web Tokens.
 *
 * Security: names are what it goes by, those of {@link isSecretName}. Any other secret inside a text, or under another
 * name, is logged as it stands.
 */
export function redact(data: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return new Redaction().members(data, 0);
}

class Redaction {
  #objectsLeft = MAX_OBJECTS;

  members(data: object, depth: number): Record<string, unknown> {
    const clean: Record<string, unknown> = {};
    for (const [name, value] of Object.entries(data)) {
      clean[name] = isSecretName(name) && !isCount(name, value) ? REDACTED : this.#value(value, depth + 1);
    }
    return clean;
  }

  #value(value: unknown, depth: number): unknown {
    if (typeof value === "string") return withoutSecrets(value);
    if (typeof value !== "object" || value === null) return value;
    if (depth > MAX_DEPTH) return "[too deep]";
    if (this.#objectsLeft-- <= 0) return "[too much]";
    if (Array.isArray(value)) return value.map((one) => this.#value(one, depth + 1));
    if (value instanceof Headers) return this.members(Object.fromEntries(value), depth);
    if (value instanceof Error) return this.members(stdSerializers.err(value), depth);
    const { toJSON } = value as { toJSON?: unknown };
    if (typeof toJSON !== "function") return this.members(value, depth);
    const json: unknown = toJSON.call(value);
    // What becomes text (a date, a URL) has no members.
    return typeof json === "object" ? this.#value(json, depth + 1) : value;
  }
}

/** `passwords: 3` says how many there are. */
function isCount(name: string, value: unknown): boolean {
  return typeof value === "number" && /s$/i.test(name);
}

/** A text without the secret fields of the queries in it, and without JSON Web Tokens. */
export function withoutSecrets(text: string): string {
  const cut = text.includes("=")
    ? text.replace(FIELD, (field, mark: string, name: string) =>
        isSecretName(decoded(name)) ? `${mark}${name}=${REDACTED}` : field,
      )
    : text;
  return cut.includes("eyJ") ? cut.replace(JWT, REDACTED) : cut;
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
