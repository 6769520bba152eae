import { describe, expect, test } from "vitest";
import { TrustedOrigins, TrustedProxies } from "../../http/index.ts";
import { AshlarError, ConfigurationError } from "../../support/index.ts";
import type { CompleteApplicationSettings } from "./application-settings.ts";
import { readApplicationSettings } from "./settings.ts";

const KEY = "q3Zr8pYt5Wn1Lx7Vc0Bm4Kj6Hg2Fd9Sa-_QwErTyUiO";
const PRODUCTION = { APP_ENV: "production", APP_URL: "https://shop.example", APP_KEY: KEY };

function read(app: unknown, environment: Record<string, string> = {}, hasRoot = false): CompleteApplicationSettings {
  return readApplicationSettings(app, environment, hasRoot);
}

/** The error for an application without a folder whose variables are missing. */
const NO_ROOT = "Without a root, no .env is read: add root: import.meta.dirname to createApplication().";

/** Which of several addresses count as trusted proxies. */
function trusted({ trustedProxies }: CompleteApplicationSettings, ...addresses: readonly string[]): boolean[] {
  return addresses.map((address) => trustedProxies.trusts(address));
}

function problem(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof AshlarError) return `${error.code} ${error.message}`;
    throw error;
  }
  throw new Error("it did not throw");
}

describe("defaults", () => {
  test("an application without configuration and environment is in development and uses port 3000", () => {
    const { key, ...settings } = read(undefined);
    expect(key).toMatch(/^[\w-]{43}$/);
    expect(settings).toEqual({
      name: "Ashlar",
      environment: "development",
      url: null,
      basePath: "",
      cookieSuffix: "",
      previousKeys: [],
      processes: null,
      language: "en",
      languages: [],
      log: { level: "info", requests: true, addresses: "full", audit: true, identifiers: false },
      server: {
        port: 3000,
        hostname: null,
        socket: null,
        fd: null,
        basePath: "kept",
        keepAliveTimeoutSeconds: 65,
        headersTimeoutSeconds: 15,
        requestTimeoutSeconds: 120,
        stallTimeoutSeconds: 60,
        maxConnections: null,
        maxHeaderBytes: 16_384,
        maxQueueMs: 0,
        drainSeconds: 0,
        shutdownTimeoutSeconds: 10,
        waitSeconds: 0,
        releasesMemory: false,
        health: { up: "/up", ready: "/ready", details: expect.any(TrustedProxies) },
      },
      limits: {
        maxBodyBytes: 1_048_576,
        maxMultipartBytes: 1_048_576,
        maxFields: 1000,
        maxFiles: 20,
        maxDepth: 64,
        maxJsonValues: 10_000,
        maxFormMemoryBytes: 1_048_576,
        maxMemoryBytes: 268_435_456,
        maxDiskBytes: 8_589_934_592,
      },
      uploadFolder: null,
      hstsMaxAgeSeconds: 0,
      trustedProxies: expect.any(TrustedProxies),
      clientAddress: "required",
      trustedOrigins: expect.any(TrustedOrigins),
      hosts: null,
    });
  });

  test("browsers are asked to use https for a year, in production only, and only if APP_URL is https", () => {
    const secondsOf = (environment: Record<string, string>, app?: object) => read(app, environment).hstsMaxAgeSeconds;
    expect(secondsOf(PRODUCTION)).toBe(31_536_000);
    expect(secondsOf(PRODUCTION, { hstsMaxAgeSeconds: 300 })).toBe(300);
    expect(secondsOf(PRODUCTION, { hstsMaxAgeSeconds: 0 })).toBe(0);
    expect(secondsOf({ ...PRODUCTION, APP_URL: "http://shop.example" })).toBe(0);
    expect(secondsOf({ ...PRODUCTION, APP_ENV: "development" })).toBe(0);
    expect(problem(() => read({ hstsMaxAgeSeconds: 300 }, { APP_URL: "http://shop.example" }))).toBe(
      "E_INVALID_CONFIGURATION config/app.ts: APP.hstsMaxAgeSeconds: has no effect, because APP_URL is not https. " +
        "Set APP_URL to an https address, or leave it out.",
    );
  });

  test("settings that the configuration leaves out come from the environment", () => {
    const environment = { ...PRODUCTION, PORT: "8080", HOST: "127.0.0.1" };
    const { name, environment: of, url, key, server } = read({ name: "Shop" }, environment, true);
    expect({ name, of, url, key, port: server.port, hostname: server.hostname }).toEqual({
      name: "Shop",
      of: "production",
      url: "https://shop.example",
      key: KEY,
      port: 8080,
      hostname: "127.0.0.1",
    });
  });

  test("the configuration wins over the environment", () => {
    const app = { environment: "test", url: "http://localhost:8080/", server: { port: 1, hostname: "::1" } };
    const { environment, url, server } = read(app, { ...PRODUCTION, APP_ENV: "", PORT: "9", HOST: "0.0.0.0" });
    expect([environment, url, server.port, server.hostname]).toEqual(["test", "http://localhost:8080", 1, "::1"]);
  });

  test("the settings are deeply frozen", () => {
    const settings = read({ trustedProxies: ["10.0.0.1"] });
    const { server, log, limits, previousKeys, trustedProxies } = settings;
    for (const part of [settings, server, log, limits, previousKeys, trustedProxies]) {
      expect(Object.isFrozen(part)).toBe(true);
    }
  });
});

describe("the environment's name", () => {
  test("NODE_ENV counts if APP_ENV is not set", () => {
    expect(read(undefined, { NODE_ENV: "test" }).environment).toBe("test");
    expect(read(undefined, { NODE_ENV: "" }).environment).toBe("development");
    expect(read(undefined, { NODE_ENV: " Test\n", APP_ENV: "" }).environment).toBe("test");
  });

  test.each([
    ["production", "development"],
    ["production", "test"],
    ["PRODUCTION ", "development"],
    ["development", "production"],
  ])("S55 NODE_ENV=%s with APP_ENV=%s fails startup", (ofNode, ofApplication) => {
    const message = `E_INVALID_CONFIGURATION Environment variable NODE_ENV: is "${ofNode.trim().toLowerCase()}", but APP_ENV is "${ofApplication}". Set both to the same, or remove one of them; also look in .env.`;
    expect(problem(() => read(undefined, { ...PRODUCTION, NODE_ENV: ofNode, APP_ENV: ofApplication }))).toBe(message);
  });

  test("S55 APP.environment must not contradict NODE_ENV or APP_ENV", () => {
    const app = { environment: "development" };
    expect(problem(() => read(app, { NODE_ENV: "production" }))).toMatch(
      'Environment variable NODE_ENV: is "production", but config/app.ts: APP.environment is "development".',
    );
    expect(problem(() => read(app, { APP_ENV: "production" }))).toMatch(
      'Environment variable APP_ENV: is "production", but config/app.ts: APP.environment is "development".',
    );
    expect(read(app, { APP_ENV: "development", NODE_ENV: "development" }).environment).toBe("development");
  });

  test("S55 NODE_ENV=test, which test runners set, is allowed with any environment", () => {
    expect(read(undefined, { ...PRODUCTION, NODE_ENV: "test" }).environment).toBe("production");
    expect(read(undefined, { NODE_ENV: "test", APP_ENV: "development" }).environment).toBe("development");
    expect(read({ environment: "development" }, { NODE_ENV: "test" }).environment).toBe("development");
  });

  test("S55 an unknown NODE_ENV fails startup unless APP_ENV is set", () => {
    expect(problem(() => read(undefined, { NODE_ENV: "staging" }))).toBe(
      'E_INVALID_CONFIGURATION Environment variable NODE_ENV: is "staging". Set it, or APP_ENV, to production, development or test.',
    );
    expect(read(undefined, { ...PRODUCTION, NODE_ENV: "staging" }).environment).toBe("production");
  });

  test("anything else is an error", () => {
    expect(problem(() => read(undefined, { APP_ENV: "prod" }))).toBe(
      'E_INVALID_CONFIGURATION Environment variable APP_ENV: is "prod". Set it to production, development or test.',
    );
    expect(problem(() => read({ environment: "live" }))).toBe(
      'E_INVALID_CONFIGURATION config/app.ts: APP.environment: is "live". Write "production", "development" or "test", or leave it out.',
    );
  });

  test("in tests nothing is logged by default", () => {
    expect(read(undefined, { APP_ENV: "test" }).log).toEqual({
      level: "silent",
      requests: false,
      addresses: "full",
      audit: false,
      identifiers: false,
    });
    expect(read(undefined, { APP_ENV: "test", LOG_LEVEL: "warn" }).log.level).toBe("warn");
    expect(read({ log: { level: "debug" } }, { APP_ENV: "test", LOG_LEVEL: "warn" }).log.level).toBe("debug");
    expect(read(undefined, { APP_ENV: "test", LOG_LEVEL: "" }).log.level).toBe("silent");
    expect(() => read(undefined, { APP_ENV: "test", LOG_LEVEL: "loud" })).toThrow(
      'Environment variable LOG_LEVEL: is "loud", which is not a level. Set it to one of: trace, debug, info, warn, error, fatal, silent.',
    );
    expect(read({ log: { level: "debug", requests: true } }, { APP_ENV: "test" }).log).toEqual({
      level: "debug",
      requests: true,
      addresses: "full",
      audit: false,
      identifiers: false,
    });
  });
});

describe("APP_URL", () => {
  test("S186 hosts are a list, text with commas, the variable APP_HOSTS or a function", async () => {
    const variable = { APP_HOSTS: " a.example , *.b.example" };
    const included = (hosts: unknown, host: string) => read({ hosts }, variable).hosts?.include(host);
    expect(included(undefined, "a.example")).toBe(true);
    expect(included("", "x.b.example")).toBe(true);
    expect(included(["c.example"], "a.example")).toBe(false);
    expect(included("c.example, d.example", "d.example")).toBe(true);
    expect(included((host: string) => host === "e.example", "e.example")).toBe(true);
    expect(read({ hosts: [] }, variable).hosts).toBe(null);
  });

  test("an invalid host is refused at startup", () => {
    expect(problem(() => read({ hosts: ["https://a.example"] }))).toBe(
      'E_INVALID_CONFIGURATION config/app.ts: APP.hosts: contains "https://a.example", which is not a host without scheme, port and path. Write hosts without scheme and port: ["shop.example", "*.shop.example"].',
    );
    expect(problem(() => read({}, { APP_HOSTS: "*.com" }))).toContain(
      'Environment variable APP_HOSTS: contains "*.com"',
    );
    expect(problem(() => read({ hosts: 7 }))).toContain("config/app.ts: APP.hosts");
  });

  test("S40 a missing APP_URL fails startup in production, and only there", () => {
    const { APP_URL: _, ...rest } = PRODUCTION;
    const expected =
      "E_MISSING_ENVIRONMENT Environment variable APP_URL: is not set, and production needs it: links, redirects " +
      "and cookies depend on the address that visitors use. Set it to the public address, like APP_URL=https://shop.example";
    expect(problem(() => read(undefined, rest, true))).toBe(expected);
    expect(problem(() => read(undefined, { ...rest, APP_URL: "" }, true))).toBe(expected);
    expect(problem(() => read(undefined, rest))).toBe(expected.replace("Set it", `${NO_ROOT} Set it`));
    expect(read(undefined, { ...rest, APP_ENV: "development" }).url).toBeNull();
    expect(read(undefined, { ...rest, APP_ENV: "test" }).url).toBeNull();
  });

  test.each([
    ["https://shop.example/", "https://shop.example"],
    ["HTTPS://Shop.Example:443", "https://shop.example"],
    ["http://127.0.0.1:3000", "http://127.0.0.1:3000"],
  ])("%s becomes the origin %s", (given, origin) => {
    expect(read({ url: given }).url).toBe(origin);
  });

  test.each([
    ["https://x.example/shop", "/shop"],
    ["https://x.example/Shop/v1.2/", "/Shop/v1.2"],
    ["https://x.example/a/../b", "/b"],
    ["https://x.example", ""],
  ])("%s is the origin and the base path %j", (given, basePath) => {
    expect(read({ url: given })).toMatchObject({ url: "https://x.example", basePath });
  });

  test("in development on this machine, cookie names carry the port, unless it is the default one", () => {
    const suffix = (environment: Record<string, string>): string => read(undefined, environment).cookieSuffix;
    expect(suffix({})).toBe("");
    expect(suffix({ PORT: "3000", APP_URL: "http://localhost:3000" })).toBe("");
    expect(suffix({ PORT: "0" })).toBe("");
    expect(suffix({ APP_URL: "http://localhost" })).toBe("");
    expect(suffix({ PORT: "3001" })).toBe("~3001");
    expect(suffix({ PORT: "3000", APP_URL: "http://127.0.0.1:3002" })).toBe("~3002");
    expect(suffix({ APP_URL: "http://localhost:3001/shop" })).toBe("~shop~3001");
    expect(suffix({ PORT: "3001", APP_URL: "https://localhost:3001" })).toBe("");
    expect(suffix({ PORT: "3001", APP_URL: "http://shop.example:3001" })).toBe("");
    expect(suffix({ APP_ENV: "test", PORT: "3001" })).toBe("");
    expect(suffix({ ...PRODUCTION, PORT: "3001", APP_URL: "http://localhost:3001" })).toBe("");
  });

  test.each([
    "shop.example",
    "ftp://shop.example",
    "https://shop.example/a//b",
    "https://shop.example/a%20b",
    "https://shop.example/~a",
    "https://shop.example//a",
    "https://shop.example/?a=1",
    "https://shop.example/#a",
    "https://user@shop.example",
    "javascript:alert(1)",
    "//shop.example",
  ])("%s is not the address of a site", (given) => {
    expect(problem(() => read({ url: given }))).toBe(
      `E_INVALID_CONFIGURATION Environment variable APP_URL: is "${given}", which is not the address of a site. Set it ` +
        "to scheme, host and port, like APP_URL=https://shop.example, and a path if the application is under one, like https://x.example/shop",
    );
  });
});

describe("APP_KEY", () => {
  const MISSING =
    "E_WEAK_SECRET Environment variable APP_KEY: is not set, and the keys of signed URLs and cookies are derived from it. " +
    "Run: npx ashlar key:generate";

  test("S48 production does not boot without a key, with or without a folder", () => {
    const { APP_KEY: _, ...rest } = PRODUCTION;
    expect(problem(() => read(undefined, rest, true))).toBe(MISSING);
    expect(problem(() => read(undefined, rest, false))).toBe(MISSING.replace("Run:", `${NO_ROOT} Run:`));
  });

  test("an application with a folder needs a key in development as well", () => {
    expect(problem(() => read(undefined, {}, true))).toBe(MISSING);
    expect(problem(() => read(undefined, { APP_KEY: "" }, true))).toBe(MISSING);
  });

  test("a one-file application and a test get a random key, a new one each time", () => {
    expect(read(undefined, {}).key).not.toBe(read(undefined, {}).key);
    expect(read(undefined, { APP_ENV: "test" }, true).key).toMatch(/^[\w-]{43}$/);
  });

  test.each(["tiny-key", "a".repeat(64), "abcdefgh".repeat(8)])(
    "S48 a weak key fails startup, and the error does not show it: %s",
    (key) => {
      const shown = problem(() => read({ key }, {}));
      expect(shown).toMatch(/^E_WEAK_SECRET Environment variable APP_KEY: .* Run: npx ashlar key:generate$/);
      expect(shown).not.toContain(key);
    },
  );
});

describe("APP_PREVIOUS_KEYS", () => {
  const [FIRST, SECOND] = [[...KEY].reverse().join(""), `${KEY}-of-last-year`];
  const REMEDY = "Set it to a complete former APP_KEY, or remove the entry.";

  test("the keys are separated by commas, and spaces and empty entries are ignored", () => {
    const keys = (list: string) => read(undefined, { ...PRODUCTION, APP_PREVIOUS_KEYS: list }).previousKeys;
    expect(keys(FIRST)).toEqual([FIRST]);
    expect(keys(`${FIRST},${SECOND}`)).toEqual([FIRST, SECOND]);
    expect(keys(` , ${FIRST} ,, ${SECOND},`)).toEqual([FIRST, SECOND]);
    expect([keys(""), keys(" "), keys(",")]).toEqual([[], [], []]);
  });

  test("the configuration wins over the environment, even with an empty list", () => {
    const environment = { ...PRODUCTION, APP_PREVIOUS_KEYS: FIRST };
    expect(read({ previousKeys: [SECOND, "", " "] }, environment).previousKeys).toEqual([SECOND]);
    expect(read({ previousKeys: [] }, environment).previousKeys).toEqual([]);
    expect(read({ name: "Shop" }, environment).previousKeys).toEqual([FIRST]);
  });

  test.each(["tiny-key", "a".repeat(64), "abcdefgh".repeat(8)])(
    "S48 a weak previous key fails startup; the error gives its position but does not show it: %s",
    (weak) => {
      const environment = { ...PRODUCTION, APP_PREVIOUS_KEYS: `${FIRST},,${weak},${SECOND}` };
      const shown = [
        problem(() => read(undefined, environment)),
        problem(() => read({ previousKeys: [FIRST, weak] }, PRODUCTION)),
      ];
      const why = /the secret is (?:shorter than 32 bytes|not random)\./.exec(shown[0]!)?.[0];
      expect(shown).toEqual([
        `E_WEAK_SECRET Environment variable APP_PREVIOUS_KEYS, entry 3: ${why} ${REMEDY}`,
        `E_WEAK_SECRET config/app.ts: APP.previousKeys, entry 2: ${why} ${REMEDY}`,
      ]);
      for (const key of [weak, FIRST, SECOND]) expect(shown.join()).not.toContain(key);
    },
  );

  test.each([
    [FIRST, "text"],
    [[1], "a list"],
    [[FIRST, null], "a list"],
    [{}, "an object"],
    [true, "a boolean"],
  ])("%j is not a list of keys, and the error does not show it", (previousKeys, shown) => {
    expect(problem(() => read({ previousKeys }, PRODUCTION))).toBe(
      `E_INVALID_CONFIGURATION config/app.ts: APP.previousKeys: is ${shown}. Write a list of texts, or leave it out.`,
    );
  });
});

describe("APP_NEXT_KEY", () => {
  const [NEXT, PREVIOUS] = [[...KEY].reverse().join(""), `${KEY}-of-last-year`];

  test("the staged key is accepted like a previous one, and is not the key", () => {
    const environment = { ...PRODUCTION, APP_NEXT_KEY: NEXT, APP_PREVIOUS_KEYS: PREVIOUS };
    expect(read(undefined, environment)).toMatchObject({ key: KEY, previousKeys: [NEXT, PREVIOUS] });
    expect(read({ nextKey: PREVIOUS, previousKeys: [] }, environment).previousKeys).toEqual([PREVIOUS]);
    expect(read(undefined, { ...PRODUCTION, APP_NEXT_KEY: "" }).previousKeys).toEqual([]);
  });

  test("S48 a weak one fails startup, and the error does not show it", () => {
    expect(problem(() => read(undefined, { ...PRODUCTION, APP_NEXT_KEY: "hunter2" }))).toBe(
      "E_WEAK_SECRET Environment variable APP_NEXT_KEY: the secret is shorter than 32 bytes. Empty its line in .env. " +
        "Run: npx ashlar key:generate --rotate --stage",
    );
  });
});

describe("unknown and mistyped settings", () => {
  test.each([
    [{ nme: "Shop" }, 'config/app.ts: APP.nme: is not a known setting. Did you mean "name"?'],
    [{ name: 5 }, 'config/app.ts: APP.name: is a number. Write text in quotes: "…", or leave it out for "Ashlar".'],
    [[], "config/app.ts: APP: is a list. Write an object: { name: … }."],
    [
      { log: { level: "loud" } },
      'config/app.ts: APP.log.level: is "loud". Write "trace", "debug", "info", "warn", "error", "fatal" or "silent", or leave it out.',
    ],
    [{ log: { requests: "yes" } }, 'config/app.ts: APP.log.requests: is "yes". Write true or false, or leave it out.'],
    [
      { limits: { maxBodyByte: 1 } },
      'config/app.ts: APP.limits.maxBodyByte: is not a known setting. Did you mean "maxBodyBytes"?',
    ],
    [
      { limits: { maxMemoryBytes: 2 ** 20 - 1 } },
      "config/app.ts: APP.limits.maxMemoryBytes: is less than maxBodyBytes (1048576), so such a body never has room. Raise it, or lower the other one.",
    ],
    [
      { limits: { maxFormMemoryBytes: 2 ** 30 } },
      "config/app.ts: APP.limits.maxMemoryBytes: is less than maxFormMemoryBytes (1073741824). Raise it, or lower the other one.",
    ],
    [
      { limits: { maxMultipartBytes: 2 ** 34 } },
      "config/app.ts: APP.limits.maxDiskBytes: is less than maxMultipartBytes (17179869184), so such a form never has room. Raise it, or lower the other one.",
    ],
    [
      { limits: { maxDepth: 0 } },
      "config/app.ts: APP.limits.maxDepth: is 0. Write a whole number from 1 to 1099511627776, or leave it out for 64.",
    ],
    [
      { limits: { maxFields: 1.5 } },
      "config/app.ts: APP.limits.maxFields: is 1.5. Write a whole number from 1 to 1099511627776, or leave it out for 1000.",
    ],
    [{ server: { prot: 1 } }, 'config/app.ts: APP.server.prot: is not a known setting. Did you mean "port"?'],
    [
      { server: { port: 65_536 } },
      "config/app.ts: APP.server.port: is 65536. Write a whole number from 0 to 65535, or leave it out.",
    ],
    [
      { server: { port: "3000" } },
      'config/app.ts: APP.server.port: is "3000". Write a whole number from 0 to 65535, or leave it out.',
    ],
    [
      { server: { requestTimeoutSeconds: 0 } },
      "config/app.ts: APP.server.requestTimeoutSeconds: is 0. Write a number of seconds from 0.1 to 86400, or leave it out for 120.",
    ],
    [
      { server: { requestTimeoutSeconds: Number.NaN } },
      "config/app.ts: APP.server.requestTimeoutSeconds: is NaN. Write a number of seconds from 0.1 to 86400, or leave it out for 120.",
    ],
    [
      { server: { headersTimeoutSeconds: 130 } },
      "config/app.ts: APP.server.headersTimeoutSeconds: is more than requestTimeoutSeconds, which includes it. Lower it.",
    ],
    [
      { server: { trustProxy: ["10.0.0.1"] } },
      "config/app.ts: APP.server.trustProxy: is no longer a setting. Set APP.trustedProxies, or TRUSTED_PROXIES in the environment.",
    ],
    [
      { language: "English!" },
      'config/app.ts: APP.language: is "English!". Write the tag of a language: "en", "de-AT", or leave it out for "en".',
    ],
    [
      { languages: "de" },
      'config/app.ts: APP.languages: is text. Write a list of languages by their tags: ["en", "de"], or leave it out.',
    ],
    [{ languages: ["de", 5] }, 'config/app.ts: APP.languages[1]: is 5. Write the tag of a language: "en", "de-AT".'],
    [
      { trustedProxies: true },
      'config/app.ts: APP.trustedProxies: is a boolean. Write addresses, ranges, "loopback", "private" or "unix": ["10.0.0.1", "10.0.0.0/8"], or leave it out.',
    ],
    [
      { trustedProxies: ["10.0.0.1", "proxy.local"] },
      'config/app.ts: APP.trustedProxies: names "proxy.local", which is neither an address nor a range. Write addresses, ranges, "loopback", "private" or "unix": ["10.0.0.1", "10.0.0.0/8"].',
    ],
  ])("%j", (app, message) => {
    expect(problem(() => read(app))).toBe(`E_INVALID_CONFIGURATION ${message}`);
  });

  test.each([
    ["\\\\.\\pipe\\0123-4567", "\\\\.\\pipe\\0123-4567"],
    ["/run/shop.sock", "/run/shop.sock"],
    ["unix:/run/shop.sock", "/run/shop.sock"],
    ["unix:///run/shop.sock", "/run/shop.sock"],
    ["unix:tmp/shop.sock", "tmp/shop.sock"],
    ["./shop.sock", "./shop.sock"],
  ])("PORT=%s is the socket %s", (port, socket) => {
    expect(read(undefined, { PORT: port }).server).toMatchObject({ port: 3000, socket });
    expect(read({ server: { socket: port } }, { PORT: "5" }).server).toMatchObject({ port: 3000, socket });
    expect(read({ server: { port: 5 } }, { PORT: port }).server).toMatchObject({ port: 5, socket: null });
  });

  test("a socket and a port contradict each other", () => {
    expect(() => read({ server: { port: 5, socket: "/run/shop.sock" } })).toThrow(
      "config/app.ts: APP.server.socket: is set together with port.",
    );
  });

  test("the socket that systemd has opened is taken only by the process that it was opened for", () => {
    const [own, other] = [String(process.pid), String(process.ppid)];
    expect(read(undefined, { LISTEN_PID: own, LISTEN_FDS: "1" }).server.fd).toBe(3);
    expect(read(undefined, { LISTEN_PID: own, LISTEN_FDS: "0" }).server.fd).toBe(null);
    expect(read(undefined, { LISTEN_PID: other, LISTEN_FDS: "1" }).server.fd).toBe(null);
    expect(read(undefined, { LISTEN_FDS: "1" }).server.fd).toBe(null);
    expect(() => read(undefined, { LISTEN_PID: own, LISTEN_FDS: "2" })).toThrow("Environment variable LISTEN_FDS");
  });

  test("HOST may have an IPv6 address as in a URL, and HOSTNAME, which containers set, is ignored", () => {
    expect(read(undefined, { HOST: "[::]" }).server.hostname).toBe("::");
    expect(read({ server: { hostname: "[::1]" } }).server.hostname).toBe("::1");
    expect(read(undefined, { HOSTNAME: "3f1b6cd0a7e2" }).server.hostname).toBe(null);
  });

  test.each(["abc", "-1", "65536", "80.5", "3000x", " "])("PORT=%s is an error", (port) => {
    expect(() => read(undefined, { PORT: port })).toThrow(
      new ConfigurationError(
        "Environment variable PORT",
        `is ${JSON.stringify(port)}.`,
        "Set it to a number from 0 to 65535, or to the path of a socket.",
      ),
    );
  });

  test("languages are converted to their canonical tags", () => {
    const { language, languages } = read({ language: "de-at", languages: ["EN-us", "fr"] });
    expect([language, languages]).toEqual(["de-AT", ["en-US", "fr"]]);
  });

  test("limits and proxies can be set", () => {
    const settings = read({
      limits: { maxBodyBytes: 10 },
      server: { maxConnections: 5, port: 0 },
      trustedProxies: ["10.0.0.1", "::1"],
    });
    expect(settings.limits.maxBodyBytes).toBe(10);
    expect(settings.limits.maxFields).toBe(1000);
    expect(settings.server).toMatchObject({ maxConnections: 5, port: 0 });
    expect(trusted(settings, "10.0.0.1", "::1", "10.0.0.2")).toEqual([true, true, false]);
  });

  test.each([
    [["loopback"], ["127.0.0.1", "::ffff:127.9.9.9", "::1", "10.0.0.1"], [true, true, true, false]],
    [["private"], ["10.1.2.3", "172.31.0.1", "192.168.9.9", "fd00::1"], [true, true, true, true]],
    [["private"], ["127.0.0.1", "172.32.0.1", "100.64.0.1", "fe80::1", "8.8.8.8"], [false, false, false, false, false]],
    [
      ["203.0.113.0/24", "2001:db8::/32"],
      ["203.0.113.9", "2001:db8:1::1", "203.0.114.1"],
      [true, true, false],
    ],
    [["203.0.113.9"], ["203.0.113.9:5678", "[203.0.113.9]", "garbage", ""], [true, false, false, false]],
    [["::1"], ["[::1]:80", "::1"], [true, true]],
    [["fc00::/7"], ["fd00::1", "fe00::1"], [true, false]],
    [
      ["10.0.0.1", ""],
      ["10.0.0.1", "10.0.0.2", ""],
      [true, false, false],
    ],
  ])("S54 only the proxies %j are trusted", (trustedProxies, addresses, expected) => {
    expect(trusted(read({ trustedProxies }), ...addresses)).toEqual(expected);
    expect(trusted(read({}, { TRUSTED_PROXIES: trustedProxies.join(", ") }), ...addresses)).toEqual(expected);
  });

  test.each([
    "0.0.0.0/0",
    "::/0",
    "::ffff:0:0/96",
    "0.0.0.0/1, 128.0.0.0/1",
    "2000::/3",
    "fc00::/6",
    "10.0.0.1, 8.0.0.0/7",
  ])("S54 proxies at %s fail startup: anyone could forge an address", (proxies) => {
    const wide = proxies.split(", ").find((entry) => entry !== "10.0.0.1");
    const message =
      `names ${JSON.stringify(wide)}, a range of addresses that are not all your own proxies': anyone could forge theirs. ` +
      'Write addresses, ranges, "loopback", "private" or "unix": ["10.0.0.1", "10.0.0.0/8"].';
    const APP_KEY = "a key of the application, with 32 bytes and more";
    const environment = { APP_ENV: "production", APP_URL: "https://shop.example", APP_KEY, TRUSTED_PROXIES: proxies };
    expect(problem(() => read({}, environment))).toBe(
      `E_INVALID_CONFIGURATION Environment variable TRUSTED_PROXIES: ${message}`,
    );
    expect(problem(() => read({ trustedProxies: proxies.split(", ") }))).toBe(
      `E_INVALID_CONFIGURATION config/app.ts: APP.trustedProxies: ${message}`,
    );
  });

  test("S54 the configuration wins over TRUSTED_PROXIES, and a mistake in the variable names the variable", () => {
    const settings = read({ trustedProxies: ["10.0.0.1"] }, { TRUSTED_PROXIES: "10.0.0.2" });
    expect(trusted(settings, "10.0.0.1", "10.0.0.2")).toEqual([true, false]);
    expect(read({}, { TRUSTED_PROXIES: "" }).trustedProxies.isEmpty).toBe(true);
    expect(problem(() => read({}, { TRUSTED_PROXIES: "10.0.0.2,lan" }))).toBe(
      'E_INVALID_CONFIGURATION Environment variable TRUSTED_PROXIES: names "lan", which is neither an address nor a range. ' +
        'Write addresses, ranges, "loopback", "private" or "unix": ["10.0.0.1", "10.0.0.0/8"].',
    );
  });
});

describe("S106 trusted origins", () => {
  const APP_KEY = "a key of the application, with 32 bytes and more";
  const PRODUCTION = { APP_ENV: "production", APP_URL: "https://shop.example", APP_KEY };
  const WANTED = 'Write scheme, host and port of each origin: ["https://app.shop.example"].';
  const listOf = (app: object, environment = {}) => read(app, environment).trustedOrigins.list;

  test("S106 come from the configuration, or else from TRUSTED_ORIGINS, and are empty by default", () => {
    const variable = { TRUSTED_ORIGINS: " https://app.shop.example, ,http://localhost:5173/" };
    expect(listOf({}, variable)).toEqual(["https://app.shop.example", "http://localhost:5173"]);
    expect(listOf({ trustedOrigins: ["https://a.example"] }, variable)).toEqual(["https://a.example"]);
    expect(listOf({ trustedOrigins: "https://a.example,https://b.example" })).toEqual([
      "https://a.example",
      "https://b.example",
    ]);
    expect(listOf({ trustedOrigins: [] }, variable)).toEqual([]);
    expect([listOf({}), listOf({}, { TRUSTED_ORIGINS: "" })]).toEqual([[], []]);
  });

  test.each([
    ["*", 'contains "*": each origin has to be listed by itself.'],
    ["https://*.shop.example", 'contains "https://*.shop.example": each origin has to be listed by itself.'],
    ["shop.example", 'contains "shop.example", which is not an origin.'],
    ["https://shop.example/app", 'contains "https://shop.example/app", which is not an origin.'],
  ])("S106 that are invalid fail startup: %s", (origin, message) => {
    expect(problem(() => read({}, { TRUSTED_ORIGINS: `https://a.example,${origin}` }))).toBe(
      `E_INVALID_CONFIGURATION Environment variable TRUSTED_ORIGINS: ${message} ${WANTED}`,
    );
    expect(problem(() => read({ trustedOrigins: [origin] }))).toBe(
      `E_INVALID_CONFIGURATION config/app.ts: APP.trustedOrigins: ${message} ${WANTED}`,
    );
  });

  test("S106 over http fail startup in production, where the application is https", () => {
    const TRUSTED_ORIGINS = "http://localhost:5173";
    expect(problem(() => read({}, { ...PRODUCTION, TRUSTED_ORIGINS }))).toBe(
      'E_INVALID_CONFIGURATION Environment variable TRUSTED_ORIGINS: contains "http://localhost:5173" in production: ' +
        "anyone on a visitor's network can change its pages. Write its https address, or remove it.",
    );
    expect(listOf({}, { ...PRODUCTION, APP_URL: "http://localhost:3000", TRUSTED_ORIGINS })).toHaveLength(1);
    expect(listOf({}, { APP_URL: "https://shop.example", TRUSTED_ORIGINS })).toHaveLength(1);
  });
});
