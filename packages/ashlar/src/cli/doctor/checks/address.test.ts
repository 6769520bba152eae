import { expect, test } from "vitest";
import { subjectOf } from "../../../../test/support/subject.ts";
import { ADDRESS } from "./address.ts";

/** The findings about a production application with these lines in `.env`, as `severity id: lines`. */
async function inProduction(...lines: readonly string[]): Promise<string[]> {
  const subject = await subjectOf({ files: { ".env": `${lines.join("\n")}\n` }, isProduction: true });
  const findings = await ADDRESS.run(subject);
  return findings.map(({ id, severity, remedy }) => `${severity} ${id}: ${remedy.lines.join(" ")}`);
}

const URL = "APP_URL=https://shop.example";
const PROXIES = "TRUSTED_PROXIES=192.0.2.7";

test("an address with more than an origin and a path is invalid, and its origin is proposed", async () => {
  for (const more of ["/a//b", "/a%20b", "/?a=1", "/#top"]) {
    expect(await inProduction(`APP_URL="https://my.example${more}"`, PROXIES)).toEqual([
      "error url.invalid: APP_URL=https://my.example",
    ]);
  }
  expect(await inProduction("APP_URL=https://user@my.example", PROXIES)).toEqual([
    "error url.invalid: APP_URL=https://my.example",
  ]);
  for (const other of ["ftp://my.example", "my.example"]) {
    expect(await inProduction(`APP_URL=${other}`, PROXIES)).toEqual([
      "error url.invalid: APP_URL=https://shop.example",
    ]);
  }
  expect(await inProduction("APP_URL=https://my.example:8443", PROXIES)).toEqual([]);
  expect(await inProduction("APP_URL=https://my.example/shop", PROXIES)).toEqual([]);
  expect(await inProduction("APP_URL=http://my.example/shop", PROXIES)).toContain(
    "error url.http: APP_URL=https://my.example/shop",
  );
});

test("in production, a socket needs the proxy behind it to be trusted, as the server does when it starts", async () => {
  const socket = "PORT=/run/shop/app.sock";
  expect(await inProduction(URL, socket, "TRUSTED_PROXIES=10.0.0.1")).toEqual([
    "error proxies.socket: TRUSTED_PROXIES=10.0.0.1,unix",
  ]);
  expect(await inProduction(URL, socket)).toEqual(["error proxies.socket: TRUSTED_PROXIES=unix"]);
  for (const trusted of ["unix", "10.0.0.1,unix", "loopback"]) {
    expect(await inProduction(URL, socket, `TRUSTED_PROXIES=${trusted}`, "HOST=127.0.0.1")).toEqual([]);
  }
  expect(await inProduction(URL, "PORT=3000", "TRUSTED_PROXIES=10.0.0.1")).toEqual([]);
});

test("in production, no spelling of this machine is a site's address", async () => {
  for (const host of ["localhost", "shop.localhost", "127.0.0.1", "127.8.9.1", "[::1]"]) {
    expect(await inProduction(`APP_URL=https://${host}`, PROXIES)).toEqual([
      "warning url.loopback: APP_URL=https://shop.example",
    ]);
  }
});

test("the message about a missing or local address is true without mail, too", async () => {
  const problems = async (...lines: string[]) => {
    const subject = await subjectOf({ files: { ".env": `${lines.join("\n")}\n` }, isProduction: true });
    return (await ADDRESS.run(subject)).map(({ problem }) => problem);
  };
  expect(await problems(PROXIES)).toEqual([
    "APP_URL is not set, and production needs it: links, redirects and cookies depend on the address that visitors use.",
  ]);
  expect(await problems("APP_URL=https://localhost", PROXIES)).toEqual([
    "APP_URL is https://localhost in production: links that begin with it lead every reader to their own machine.",
  ]);
});

test("ranges larger than a /16 or a /48 are too wide for proxies", async () => {
  for (const range of ["private", "10.0.0.0/8", "172.16.0.0/15", "fd00::/47"]) {
    expect(await inProduction(URL, `TRUSTED_PROXIES=192.0.2.7,${range}`)).toEqual([
      "warning proxies.wide: TRUSTED_PROXIES=loopback",
    ]);
  }
  for (const range of ["10.1.0.0/16", "192.168.1.0/24", "fd00::/48"]) {
    expect(await inProduction(URL, `TRUSTED_PROXIES=${range}`)).toEqual([]);
  }
});

test("behind a proxy on this machine, the server listens only there", async () => {
  for (const host of ["", "0.0.0.0", "::"]) {
    for (const proxies of ["loopback", "127.0.0.1", "::1"]) {
      expect(await inProduction(URL, `TRUSTED_PROXIES=${proxies}`, `HOST=${host}`)).toEqual([
        "warning host.public: HOST=127.0.0.1",
      ]);
    }
  }
  expect(await inProduction(URL, "TRUSTED_PROXIES=loopback", "HOST=127.0.0.1")).toEqual([]);
  expect(await inProduction(URL, "TRUSTED_PROXIES=loopback,192.0.2.7", "HOST=0.0.0.0")).toEqual([]);
});

test("S106 an origin that can't be trusted is an error, and the others are kept", async () => {
  const found = (origins: string) => inProduction(URL, PROXIES, `TRUSTED_ORIGINS=${origins}`);
  expect(await found("https://app.shop.example,https://admin.shop.example:8443")).toEqual([]);
  expect(await found("*")).toEqual(["error origins.invalid: TRUSTED_ORIGINS="]);
  expect(await found("https://a.example,https://app.shop.example/path")).toEqual([
    "error origins.invalid: TRUSTED_ORIGINS=https://a.example,https://app.shop.example",
  ]);
  expect(await found("http://app.shop.example")).toEqual([
    "error origins.invalid: TRUSTED_ORIGINS=https://app.shop.example",
  ]);
});
