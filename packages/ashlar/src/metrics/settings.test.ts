import { expect, test } from "vitest";
import { generateSecret } from "../security/index.ts";
import { metricsPort, readMetricsSettings } from "./settings.ts";

const TOKEN = generateSecret();

test.each<[object | undefined, object]>([
  [undefined, { port: null, hostname: "127.0.0.1", path: null, token: null }],
  [
    { port: "9000", token: "" },
    { port: 9000, hostname: "127.0.0.1", path: null, token: null },
  ],
  [{ hostname: "::1" }, { port: null, hostname: "::1", path: null, token: null }],
  [
    { hostname: "0.0.0.0", token: TOKEN },
    { port: null, hostname: "0.0.0.0", path: null, token: TOKEN },
  ],
  [
    { path: "/ops/metrics", token: TOKEN },
    { path: "/ops/metrics", token: TOKEN, port: null },
  ],
])("%j is read", (written, expected) => {
  expect(readMetricsSettings(written)).toEqual(expected);
});

test.each<[object, string, RegExp]>([
  [{ path: "/metrics" }, "E_INVALID_CONFIGURATION", /METRICS\.token: is not set, so anyone/],
  [{ path: "/metrics", token: "short" }, "E_WEAK_SECRET", /METRICS\.token: the secret is shorter than 32 bytes/],
  [{ token: "x".repeat(40) }, "E_WEAK_SECRET", /METRICS\.token: the secret is not random/],
  [{ hostname: "0.0.0.0" }, "E_INVALID_CONFIGURATION", /METRICS\.hostname: is reachable from other machines/],
  [{ hostname: "127.evil.example" }, "E_INVALID_CONFIGURATION", /METRICS\.hostname/],
  [{ path: "/metrics", token: TOKEN, port: 1 }, "E_INVALID_CONFIGURATION", /METRICS\.port: is set together with path/],
  [
    { path: "/metrics", token: TOKEN, hostname: "::1" },
    "E_INVALID_CONFIGURATION",
    /METRICS\.hostname: is set together/,
  ],
  [{ path: "metrics", token: TOKEN }, "E_INVALID_CONFIGURATION", /METRICS\.path: is not valid/],
  [{ path: "/metrics/", token: TOKEN }, "E_INVALID_CONFIGURATION", /METRICS\.path: is not valid/],
  [{ pth: "/metrics" }, "E_INVALID_CONFIGURATION", /METRICS\.pth: is not a known setting\. Did you mean "path"/],
])("S82 %j is refused", (written, code, message) => {
  expect(() => readMetricsSettings(written)).toThrow(
    expect.objectContaining({ code, message: expect.stringMatching(message) }),
  );
});

test("the port follows the application's, as long as there is such a port", () => {
  expect([3000, 55_535, 55_536].map(metricsPort)).toEqual([13_000, 65_535, 0]);
});
