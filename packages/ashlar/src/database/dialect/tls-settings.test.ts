import { describe, expect, test } from "vitest";
import { readMariadbSettings } from "../mariadb/mariadb-settings.ts";
import { readPostgresSettings } from "../postgres/postgres-settings.ts";
import { withoutTls } from "./tls-parameters.ts";
import type { TlsChoice } from "./tls-settings.ts";

const AT = { where: "DATABASES.main" };
const DRIVERS = {
  "postgres://": (options: object) => readPostgresSettings(options, AT),
  "mysql://": (options: object) => readMariadbSettings(options, AT),
};
const STRICT = { ca: null, cert: null, key: null, servername: null, verifiesName: true, isDirect: false };
const named = (value: string, setting: string) => ({ value, setting });

type Scheme = keyof typeof DRIVERS;

function problem(scheme: Scheme, options: object): string {
  try {
    DRIVERS[scheme](options);
  } catch (error) {
    return (error as Error).message;
  }
  return "accepted";
}

describe.each(Object.keys(DRIVERS) as Scheme[])("S189 the encryption of a connection by %s", (scheme) => {
  const url = (parameters = "") => `${scheme}u:hunter2@db.example/d${parameters === "" ? "" : `?${parameters}`}`;

  test.each<readonly [string, TlsChoice]>([
    ["", null],
    ["sslmode=disable", false],
    ["ssl-mode=DISABLED", false],
    ["ssl=false", false],
    ["ssl=0", false],
    ["ssl=true", STRICT],
    ["ssl=1", STRICT],
    ["ssl=true&sslmode=require", STRICT],
    ["sslmode=prefer", STRICT],
    ["ssl-mode=PREFERRED", STRICT],
    ["sslmode=require", STRICT],
    ["ssl-mode=REQUIRED", STRICT],
    ["ssl_mode=required", STRICT],
    ["sslMode=VERIFY_IDENTITY", STRICT],
    ["sslmode=verify-full", STRICT],
    ["sslmode=verify-full&sslrootcert=system", STRICT],
    ["sslrootcert=ca.pem", { ...STRICT, ca: named("ca.pem", "url: sslrootcert") }],
    ["sslmode=require&sslrootcert=ca.pem", { ...STRICT, ca: named("ca.pem", "url: sslrootcert") }],
    [
      "sslmode=verify-ca&sslrootcert=ca.pem",
      { ...STRICT, verifiesName: false, ca: named("ca.pem", "url: sslrootcert") },
    ],
    [
      "ssl-mode=VERIFY_CA&ssl-ca=/etc/ca.pem",
      { ...STRICT, verifiesName: false, ca: named("/etc/ca.pem", "url: ssl-ca") },
    ],
    ["ssl_ca=ca.pem", { ...STRICT, ca: named("ca.pem", "url: ssl_ca") }],
    [
      "sslcert=own.pem&sslkey=own.key",
      { ...STRICT, cert: named("own.pem", "url: sslcert"), key: named("own.key", "url: sslkey") },
    ],
    ["sslnegotiation=direct", { ...STRICT, isDirect: true }],
  ])("by the parameters %j is %j", (parameters, tls) => {
    expect(DRIVERS[scheme]({ url: url(parameters) }).tls).toEqual(tls);
    const { read } = DRIVERS[scheme]({ url: url(), read: [url(parameters)] });
    expect(read).toEqual([url(parameters)]);
  });

  test.each([
    [
      "sslmode=no-verify",
      "has sslmode=no-verify, which may not verify the server's certificate. Write sslmode=verify-full",
    ],
    ["sslmode=allow", "has sslmode=allow, which may not verify"],
    ["ssl=no-verify", "has ssl=no-verify, which may not verify"],
    ['ssl={"rejectUnauthorized":false}', 'has ssl={"rejectUnauthorized":false}, which may not verify'],
    ["uselibpqcompat=true&sslmode=require", "has uselibpqcompat=true, which may not verify"],
    ["sslmode=verify-full&sslmode=disable", "has sslmode twice, or in two spellings."],
    ["sslmode=verify-full&SSL_MODE=disable", "has SSL_MODE twice, or in two spellings."],
    ["sslmode=", "has sslmode without a value."],
    ["sslmode=require&ssl=false", "has sslmode=require and ssl=false."],
    ["sslmode=disable&sslrootcert=ca.pem", "has sslrootcert, although the url has sslmode=disable."],
    ["sslmode=verify-ca", "has sslmode=verify-ca without an authority"],
    ["sslmode=verify-ca&sslrootcert=system", "has sslmode=verify-ca without an authority"],
    ["sslcert=own.pem", "has no private key of the application."],
    ["sslkey=own.pem", "has no certificate of the application."],
    ["sslcrl=revoked.pem", "has sslcrl, which is not supported."],
    ["sslnegotiation=fast", "has an unknown sslnegotiation."],
  ])("by the parameters %j is refused, in the address of a replica too", (parameters, expected) => {
    for (const [name, options] of Object.entries({
      url: { url: url(parameters) },
      read: { url: url(), read: [url(parameters)] },
    })) {
      expect(problem(scheme, options)).toContain(`DATABASES.main.${name}: ${expected}`);
      expect(problem(scheme, options)).not.toContain("hunter2");
    }
  });

  test("by settings next to the address is verified, and replicas inherit it", () => {
    const own = { ca: "ca.pem", cert: "own.pem", key: "own.key", servername: "db.internal" };
    const tls = {
      ...STRICT,
      servername: "db.internal",
      ...Object.fromEntries((["ca", "cert", "key"] as const).map((name) => [name, named(own[name], name)])),
    };
    expect(DRIVERS[scheme]({ url: url(), ...own }).tls).toEqual(tls);
    expect(DRIVERS[scheme]({ host: "db.example", ...own }).tls).toEqual(tls);
    expect(DRIVERS[scheme]({ url: url("sslmode=require"), ca: "ca.pem" }).tls).toEqual({
      ...STRICT,
      ca: named("ca.pem", "ca"),
    });
  });

  test.each([
    [{ url: url("sslrootcert=a.pem"), ca: "b.pem" }, "ca: is set together with a url that contains it."],
    [{ url: url("sslmode=disable"), ca: "b.pem" }, "ca: is set, although the url has sslmode=disable."],
    [{ url: url("sslmode=disable"), servername: "h" }, "servername: is set, although the url has sslmode=disable."],
    [{ host: "h", ssl: false, ca: "b.pem" }, "ca: is set, although ssl is false."],
    [{ url: url(), ca: "b.pem", read: [url("sslmode=disable")] }, "ca: is set, although the url has sslmode=disable."],
    [{ host: "h", ca: "b.pem", cert: "own.pem" }, "has no private key of the application."],
    [{ host: "h", ca: "b.pem", servername: "https://h" }, "servername: is not valid."],
  ])("%j is refused", (options, expected) => {
    expect(problem(scheme, options)).toContain(expected);
  });
});

test("the driver gets no encryption parameter from an address, however it is spelled", () => {
  const rest = "postgres://u:p%40@h:5/d?application_name=shop";
  expect(withoutTls(`${rest}&sslmode=require&SSL_CA=a&sslnegotiation=direct&uselibpqcompat=false&ssl=1`)).toBe(rest);
  expect(withoutTls("postgres://u@h/d?options=-c%20a%3Db")).toBe("postgres://u@h/d?options=-c%20a%3Db");
});
