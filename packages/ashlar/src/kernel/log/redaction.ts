import { stdSerializers } from "pino";
import { isSecretName } from "../../support/index.ts";

/** Replaces a secret in the log. */
export const REDACTED = "[redacted]";

/** A field of a query or of a URL-encoded form, anywhere in a text. */
const FIELD = /([?&])([^=&\s"'<>]{1,256})=([^&#\s"'<>]+)/g;
/** A JSON Web Token (RFC 7519) can be recognized by its beginning, `{"` in base64url. */
const JWT = /\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*/g;

const MAX_DEPTH = 8;

/**
 * The maximum number of objects inspected for one line. An error may refer to a request, and the request to the
 * complete server.
 */
const MAX_OBJECTS = 200;

/**
 * Returns the same data with each member that could be a secret redacted, at any depth, by its name: `password`,
 * `Authorization`, `api_token`, … This includes errors, and their properties besides the message. In texts, such as
 * URLs, secret query fields are redacted too, and so are JSON Web Tokens.
 *
 * Security: redaction depends on the names in {@link isSecretName}. A secret inside other text, or under another name,
 * is logged unchanged.
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
    if (value instanceof Error) return this.members({ ...stdSerializers.err(value), message: messageOf(value) }, depth);
    const { toJSON } = value as { toJSON?: unknown };
    if (typeof toJSON !== "function") return this.members(value, depth);
    const json: unknown = toJSON.call(value);
    // Values that are logged as text, such as a date or a URL, have no members.
    return typeof json === "object" ? this.#value(json, depth + 1) : value;
  }
}

/** The message, followed by those of the causes that it does not already contain. */
function messageOf(error: Error): string {
  let text = String(error.message);
  const seen = new Set<unknown>([error]);
  for (let { cause } = error; cause instanceof Error && !seen.has(cause); { cause } = cause) {
    seen.add(cause);
    if (!text.includes(cause.message)) text = `${text.replace(/\.$/, "")}: ${cause.message}`;
  }
  return text;
}

/** Whether a value is only a count, such as in `passwords: 3`. */
function isCount(name: string, value: unknown): boolean {
  return typeof value === "number" && /s$/i.test(name);
}

/** Removes the secret query fields and the JSON Web Tokens from a text. */
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
