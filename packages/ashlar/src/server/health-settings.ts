import { parseProxies, TrustedProxies } from "../http/index.ts";
import { ConfigurationError, derived, type Setting, setting, settings } from "../support/index.ts";

/** `APP.server.health` in `config/app.ts`: the paths for health checks by load balancers and monitors. */
export interface HealthSettings {
  /** The path that responds with 200 while the process handles requests; `false` for none. Default: `/up`. */
  readonly up?: string | false;
  /**
   * The path that responds with 200 if requests should be sent here, and otherwise with 503; `false` for none. Default:
   * `/ready`.
   */
  readonly ready?: string | false;
  /**
   * The clients for which the response of `ready` includes the failed check, written as in `APP.trustedProxies`:
   * addresses, ranges, `loopback` and `private`; default: `loopback`. All other clients get only the status.
   */
  readonly details?: string | readonly string[];
}

/** {@link HealthSettings} as read; a missing path is `null`. */
export interface CompleteHealthSettings {
  readonly up: string | null;
  readonly ready: string | null;
  /** Recognizes clients that may get details. */
  readonly details: TrustedProxies;
}

/** The default paths. An application's own route with the same path takes precedence. */
export const DEFAULT_PATHS = { up: "/up", ready: "/ready" } as const;

function path(fallback: string): Setting<string | false, string | false> {
  return setting<string | false>({
    what: `a path, such as "${fallback}", or false`,
    fallback,
    accept: (value) => {
      if (value === false) return false;
      return typeof value === "string" && /^(\/[A-Za-z0-9._~-]+)+$/.test(value) ? value : undefined;
    },
  });
}

const CLIENTS: Setting<readonly string[], string | readonly string[]> = setting({
  what: 'addresses, ranges, "loopback" or "private": ["10.0.0.1", "10.0.0.0/8"]',
  fallback: ["loopback"],
  accept: (value) => {
    if (typeof value === "string") return value.split(",").map((entry) => entry.trim());
    return Array.isArray(value) && value.every((entry) => typeof entry === "string") ? value : undefined;
  },
});

const SCHEMA = settings<HealthSettings>()(
  { up: path(DEFAULT_PATHS.up), ready: path(DEFAULT_PATHS.ready), details: CLIENTS },
  {
    check({ up, ready }, refuse) {
      if (up !== false && up === ready) throw refuse("ready", "is the same path as up.", "Choose another.");
    },
  },
);

const OBJECT = derived(SCHEMA, ({ up, ready, details }, where) => {
  const ranges = parseProxies(details);
  if (typeof ranges === "string") throw new ConfigurationError(`${where}.details`, ranges, `Write ${CLIENTS.what}.`);
  return Object.freeze({ up: up || null, ready: ready || null, details: new TrustedProxies(ranges) });
});

/** `APP.server.health`; `false` if there are no such paths. */
export const HEALTH: Setting<CompleteHealthSettings | null, HealthSettings | false> = Object.freeze({
  what: OBJECT.what,
  read: (value: unknown, where: string) => (value === false ? null : OBJECT.read(value, where)),
});
