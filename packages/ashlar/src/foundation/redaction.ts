import { stdSerializers } from "pino";

/** How the names end that secrets have, whatever stands before: `password`, `new_password`, `X-CSRF-TOKEN`, `apiKey`. */
const SECRET_NAME =
  /(?:password|passphrase|secret|token|authorization|cookie|apikey|appkey|privatekey|previouskeys|previoussecrets)$|^passwordconfirmation$/;

/** What stands in the log in the place of a secret. */
export const REDACTED = "[redacted]";

const MAX_DEPTH = 8;

/** How many objects of one line are looked into. An error may carry a request, and that the whole server. */
const MAX_OBJECTS = 200;

/**
 * The same data with each member that could be a secret blacked out by its name, at any depth: `password`,
 * `Authorization`, `api_token`, … Errors, and what they carry beside their message, are data too.
 *
 * Security: a name is all it goes by. A secret inside a message or under another name is logged as it is.
 */
export function redact(data: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return new Redaction().members(data, 0);
}

class Redaction {
  #objectsLeft = MAX_OBJECTS;

  members(data: object, depth: number): Record<string, unknown> {
    const clean: Record<string, unknown> = {};
    for (const [name, value] of Object.entries(data)) {
      clean[name] = isSecretName(name) ? REDACTED : this.#value(value, depth + 1);
    }
    return clean;
  }

  #value(value: unknown, depth: number): unknown {
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

function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name.toLowerCase().replaceAll(/[-_]/g, ""));
}
