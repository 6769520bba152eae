import { serializeCookie } from "../http/index.ts";
import type { Sealer } from "../security/index.ts";
import type { SessionKeeper, SessionRecord } from "./session-keeper.ts";
import type { CompleteSessionSettings } from "./settings.ts";

const MAX_COOKIE_BYTES = 4096;
/** The longest that stands in front of the contents: an id of 43 characters, two times of 9, and three points. */
const HEAD_BYTES = 64;
/** `id.createdAt.usedAt.contents`, the times in base 36. */
const SEALED = /^([\w-]{43})\.([0-9a-z]{1,9})\.([0-9a-z]{1,9})\.(.*)/s;

/** What {@link cookieSessions} returns: there is no store, the cookie holds the session. */
export class CookieSessions {
  /** @internal */
  keeper(sealer: Sealer, settings: CompleteSessionSettings): SealedSessions {
    return new SealedSessions(sealer, settings);
  }
}

/**
 * Keeps the data of sessions in the visitors' own cookies, sealed, up to some 3 KB each: the default.
 *
 * ```ts
 * // config/session.ts
 * export const SESSION = { store: cookieSessions() } satisfies SessionSettings;
 * ```
 *
 * Security: nothing is kept on the server, so no session can be called back. A cookie that was copied shows what it held
 * until its age ends it.
 */
export function cookieSessions(): CookieSessions {
  return new CookieSessions();
}

/**
 * Keeps sessions in their own cookie, sealed: the browser can neither read nor change them, and no server keeps
 * anything.
 *
 * A cookie that a previous key sealed opens, and is sealed with the current key when the session is kept the next time:
 * at its next change, or when it is used again after `refreshAfterMs` of the session manager, 5 minutes at most. A
 * browser that does not come back in between keeps the old one.
 *
 * Security: nothing of it can be called back. A cookie that was copied shows what it held until its age ends it, and of
 * two requests at once the answer that arrives last is what the browser keeps.
 */
export class SealedSessions implements SessionKeeper {
  readonly isRemote = false;
  readonly maxBytes: number;
  readonly remedy =
    "Keep less in it, or keep sessions in the database: store: databaseSessions() in SESSION of config/session.ts.";
  readonly #sealer: Sealer;
  readonly #name: string;
  readonly #maxAgeSeconds: number;

  /** @param sealer made for the purpose `session` */
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

/** How many bytes are left for contents in a cookie of this name, with its longest attributes. */
function capacity(sealer: Sealer, { cookie, absoluteMinutes, sameSite }: CompleteSessionSettings): number {
  const sealedNothing = sealer.seal(cookie, "");
  const options = { maxAgeSeconds: absoluteMinutes * 60, sameSite };
  const around = serializeCookie(cookie, sealedNothing, options, true).length - sealedNothing.length;
  const sealedBytes = Math.floor(((MAX_COOKIE_BYTES - around) * 3) / 4);
  return sealedBytes - Math.floor((sealedNothing.length * 3) / 4) - HEAD_BYTES;
}
