import { serializeCookie } from "../../http/index.ts";
import type { Sealer } from "../../security/index.ts";
import type { SessionKeeper, SessionRecord } from "./session-keeper.ts";
import type { CompleteSessionSettings } from "./settings.ts";

const MAX_COOKIE_BYTES = 4096;
/** The longest prefix of the contents: an id of 43 characters, two times of 9 characters, and three dots. */
const HEAD_BYTES = 64;
/** `id.createdAt.usedAt.contents`, the times in base 36. */
const SEALED = /^([\w-]{43})\.([0-9a-z]{1,9})\.([0-9a-z]{1,9})\.(.*)/s;

/**
 * Keeps session data in the visitors' own cookies, sealed, up to about 3 KB each. This is the default.
 *
 * ```ts
 * // config/session.ts
 * export const SESSION = { store: cookieSessions() } satisfies SessionSettings;
 * ```
 *
 * Security: no data is kept on the server, so sessions can't be revoked. A copied cookie keeps its contents until it
 * expires.
 *
 * @returns the store's name, because there is no store on the server
 */
export function cookieSessions(): "cookie" {
  return "cookie";
}

/**
 * Keeps each session in its own sealed cookie, which the browser can neither read nor change. Nothing is kept on the
 * server.
 *
 * A cookie sealed with a previous key can still be opened. It is sealed with the current key when the session is next
 * saved, which is when it changes, or when it is used again after the session manager's `refreshAfterMs` of at most 5
 * minutes. A browser that isn't used in time keeps the old cookie.
 *
 * Security: sessions can't be revoked. A copied cookie keeps its contents until it expires, and after two concurrent
 * requests, the browser keeps the cookie of the response that arrives last.
 */
export class SealedSessions implements SessionKeeper {
  readonly isRemote = false;
  readonly maxBytes: number;
  readonly remedy =
    "Store less in it, or keep sessions in the database: store: databaseSessions() in SESSION of config/session.ts.";
  readonly #sealer: Sealer;
  readonly #name: string;
  readonly #maxAgeSeconds: number;

  /** @param sealer created for the purpose `session` */
  constructor(sealer: Sealer, settings: CompleteSessionSettings) {
    this.#sealer = sealer;
    this.#name = settings.cookie;
    this.#maxAgeSeconds = settings.lifetimeMinutes * 60;
    this.maxBytes = capacity(sealer, settings);
  }

  find(cookie: string): SessionRecord | null {
    const text = this.#sealer.open(this.#name, cookie, this.#maxAgeSeconds);
    const [, id, createdAt, usedAt, contents] = (text === null ? null : SEALED.exec(text)) ?? [];
    if (id === undefined) return null;
    return {
      id,
      createdAt: Number.parseInt(createdAt!, 36),
      usedAt: Number.parseInt(usedAt!, 36),
      contents: contents!,
    };
  }

  cookieFor({ id, createdAt, usedAt, contents }: SessionRecord): string {
    const text = `${id}.${createdAt.toString(36)}.${usedAt.toString(36)}.${contents}`;
    return this.#sealer.seal(this.#name, text);
  }

  save(): boolean {
    return true;
  }

  remove(): void {}

  prune(): number {
    return 0;
  }

  close(): void {}
}

/** How many bytes are left for contents in a cookie with this name and the longest attributes. */
function capacity(sealer: Sealer, { cookie, absoluteMinutes, sameSite, domain }: CompleteSessionSettings): number {
  const sealedNothing = sealer.seal(cookie, "");
  const options = { maxAgeSeconds: absoluteMinutes * 60, sameSite, ...(domain !== null && { domain }) };
  const around = serializeCookie(cookie, sealedNothing, options, true).length - sealedNothing.length;
  const sealedBytes = Math.floor(((MAX_COOKIE_BYTES - around) * 3) / 4);
  return sealedBytes - Math.floor((sealedNothing.length * 3) / 4) - HEAD_BYTES;
}
