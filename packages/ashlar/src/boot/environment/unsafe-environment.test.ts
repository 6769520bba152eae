import { expect, onTestFinished, test } from "vitest";
import { createApplication } from "../application/create-application.ts";
import { createLogger } from "../log/create-logger.ts";

const KEY = "q3Zr8pYt5Wn1Lx7Vc0Bm4Kj6Hg2Fd9Sa-_QwErTyUiO";

/** The level and message of each line that an application logs at boot. */
async function bootLog(environment: Record<string, string>): Promise<string[]> {
  const lines: string[] = [];
  const settings = { name: "Shop", environment: "production", log: { level: "info", requests: false } } as const;
  const write = (line: string) => {
    const { level, msg } = JSON.parse(line) as { level: string; msg: string };
    lines.push(`${level} ${msg}`);
  };
  const application = await createApplication({
    logger: createLogger(settings, { write }),
    environment: { APP_KEY: KEY, ...environment },
  });
  onTestFinished(() => application.shutdown());
  return lines;
}

const HTTPS = { APP_ENV: "production", APP_URL: "https://shop.example" };

test.each(["http://shop.example", "http://10.0.0.5:3000", "http://localhost.evil.example"])(
  "S20 production warns at boot that cookies lack Secure, and says what to do: %s",
  async (url) => {
    expect(await bootLog({ ...HTTPS, APP_URL: url })).toEqual([
      `warn APP_URL is ${url}, so cookies are sent over unencrypted connections too: they have neither Secure nor the ` +
        "prefix __Host-. Serve the application over https, by a proxy or otherwise, and set APP_URL to its https address.",
    ]);
  },
);

test.each([
  { APP_ENV: "production", APP_URL: "https://shop.example" },
  { APP_ENV: "production", APP_URL: "http://127.0.0.1:3000" },
  { APP_ENV: "production", APP_URL: "http://localhost:3000" },
  { APP_ENV: "production", APP_URL: "http://[::1]:3000" },
  { APP_ENV: "development", APP_URL: "http://shop.example" },
  { APP_ENV: "test", APP_URL: "http://shop.example" },
])("S20 startup logs no warning if cookies are secure or stay on the machine: %j", async (environment) => {
  expect(await bootLog(environment)).toEqual([]);
});

test("S55 production warns at boot if TLS certificates are not verified, and says what to do", async () => {
  expect(await bootLog({ ...HTTPS, NODE_TLS_REJECT_UNAUTHORIZED: "0" })).toEqual([
    "warn NODE_TLS_REJECT_UNAUTHORIZED is 0, so certificates are not verified: anyone on the network can read and change " +
      "what the application exchanges with other services by fetch() or node:https. Remove it. If a certificate is " +
      "signed by your own authority, set NODE_EXTRA_CA_CERTS to that authority's certificate.",
  ]);
  expect(await bootLog({ ...HTTPS, NODE_TLS_REJECT_UNAUTHORIZED: "1" })).toEqual([]);
  expect(await bootLog({ ...HTTPS, APP_ENV: "development", NODE_TLS_REJECT_UNAUTHORIZED: "0" })).toEqual([]);
});
