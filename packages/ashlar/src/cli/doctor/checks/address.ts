import { environmentName, siteOf } from "../../../boot/index.ts";
import { parseOrigins, parseProxies } from "../../../http/index.ts";
import { isLoopbackHost, reasonOf } from "../../../support/index.ts";
import { type Check, error, type Finding, type FindingId, warning } from "../finding.ts";
import type { Subject } from "../subject.ts";

const EXAMPLE = "https://shop.example";

/** Checks the application's environment, public address and proxies, and the address that it listens on. */
export const ADDRESS: Check = {
  name: "Environment and address",
  needsBoot: false,
  run(subject: Subject): Finding[] {
    return [
      ...environmentFindings(subject),
      ...urlFindings(subject),
      ...proxyFindings(subject),
      ...originFindings(subject),
    ];
  },
};

function environmentFindings(subject: Subject): Finding[] {
  const { environment = null } = subject.app as { readonly environment?: Parameters<typeof environmentName>[1] };
  try {
    environmentName(subject.variables, environment);
    return [];
  } catch (thrown) {
    const wrong = ["APP_ENV", "NODE_ENV"].filter((name) => subject.variables[name]);
    const remedy =
      subject.written?.APP_ENV || subject.written?.NODE_ENV
        ? { in: ".env", lines: wrong.filter((name) => subject.written?.[name]).map((name) => `${name}=`) }
        : { note: `Set ${wrong.join(" and ")} to the same, or remove one of them from the environment.` };
    return [error("env.contradiction", { file: ".env", problem: reasonOf(thrown), ...remedy })];
  }
}

/** The setting, unless it is read from the environment. */
function literal(subject: Subject, name: "url" | "trustedProxies" | "trustedOrigins", variable: string): boolean {
  const value = subject.app[name];
  return value !== undefined && value !== null && value !== "" && value !== subject.variables[variable];
}

function urlFinding(
  make: typeof error,
  id: FindingId,
  subject: Subject,
  { problem, to, note }: { readonly problem: string; readonly to: string; readonly note?: string },
): Finding {
  const more = note === undefined ? {} : { note };
  if (literal(subject, "url", "APP_URL")) {
    return make(id, { file: "config/app.ts", problem, lines: ["// in APP:", `url: "${to}",`], ...more });
  }
  return make(id, { file: ".env", problem, lines: [`APP_URL=${to}`], ...more });
}

function urlFindings(subject: Subject): Finding[] {
  const given = subject.app.url ?? subject.variables.APP_URL;
  const { isProduction } = subject;
  if (typeof given !== "string" || given === "") {
    if (!isProduction) return [];
    const problem =
      "APP_URL is not set, and production needs it: links, redirects and cookies depend on the address that visitors use.";
    const note = ["Write your site's address.", subject.envFileNote].filter((one) => one !== null).join(" ");
    return [urlFinding(error, "url.missing", subject, { problem, to: EXAMPLE, note })];
  }
  const url = URL.parse(given);
  const isWeb = url?.protocol === "https:" || url?.protocol === "http:";
  const site = siteOf(given);
  if (url === null || site === null) {
    const problem = "APP_URL is not the address of a site: scheme, host and port, and optionally a path.";
    return [urlFinding(error, "url.invalid", subject, { problem, to: isWeb ? url.origin : EXAMPLE })];
  }
  if (!isProduction) return [];
  if (isLoopbackHost(url.hostname)) {
    const problem = `APP_URL is ${url.origin} in production: links that begin with it lead every reader to their own machine.`;
    return [urlFinding(warning, "url.loopback", subject, { problem, to: EXAMPLE, note: "Write your site's address." })];
  }
  if (url.protocol === "https:") return [];
  const problem = `APP_URL is ${url.origin}: logins are sent unencrypted, and cookies lack Secure and __Host-.`;
  const note = "Serve the site over https, for example by a proxy.";
  return [urlFinding(error, "url.http", subject, { problem, to: `https://${url.host}${site.basePath}`, note })];
}

function proxyFindings(subject: Subject): Finding[] {
  const entries = entriesOf(subject.app.trustedProxies ?? subject.variables.TRUSTED_PROXIES ?? "");
  const remedy = literal(subject, "trustedProxies", "TRUSTED_PROXIES")
    ? { file: "config/app.ts", lines: ["// in APP:", 'trustedProxies: "loopback",'] }
    : { file: ".env", lines: ["TRUSTED_PROXIES=loopback"] };
  const note = "If the proxy is on another machine, write its address instead of loopback.";
  const invalid = entries.map((entry) => parseProxies([entry])).find((parsed) => typeof parsed === "string");
  if (typeof invalid === "string") {
    return [error("proxies.invalid", { ...remedy, problem: `TRUSTED_PROXIES ${invalid}`, note })];
  }
  if (!subject.isProduction) return [];
  const socket = socketOf(subject);
  if (socket !== null && !entries.includes("unix") && !entries.includes("loopback")) {
    const all = [...entries, "unix"].join(",");
    const problem =
      `The server listens at the socket ${socket}, where only the proxy knows the clients' addresses, and TRUSTED_PROXIES ` +
      "doesn't contain unix: it doesn't start.";
    const lines = remedy.file === ".env" ? [`TRUSTED_PROXIES=${all}`] : ["// in APP:", `trustedProxies: "${all}",`];
    return [error("proxies.socket", { ...remedy, lines, problem, note: "Have the proxy set X-Forwarded-For." })];
  }
  const wide = entries.find(isWide);
  if (wide !== undefined) {
    const problem = `TRUSTED_PROXIES trusts ${wide}: every machine in that network can forge the client's address, and so avoid limits.`;
    return [warning("proxies.wide", { ...remedy, problem, note })];
  }
  if (entries.length === 0 && isHttps(subject)) {
    const problem =
      "APP_URL is https, which a proxy in front of the application must provide, and TRUSTED_PROXIES is empty: all " +
      "visitors count as one, the proxy, so limits lock out everyone at once.";
    return [warning("proxies.missing", { ...remedy, problem, note })];
  }
  return hostFindings(subject, entries);
}

/**
 * The unix socket or pipe that the application listens on; `null` if it listens on a port, or doesn't need clients'
 * addresses.
 */
function socketOf({ app, variables }: Subject): string | null {
  const { server, clientAddress } = app as {
    readonly server?: { readonly socket?: unknown };
    readonly clientAddress?: unknown;
  };
  const given = String(server?.socket ?? variables.PORT ?? "");
  return /[\\/]/.test(given) && clientAddress !== "unknown" ? given : null;
}

/** Either a list, or text with commas. */
function entriesOf(given: unknown): string[] {
  const entries: readonly unknown[] = Array.isArray(given) ? given : String(given).split(",");
  return entries.map((entry) => String(entry).trim()).filter((entry) => entry !== "");
}

function originFindings(subject: Subject): Finding[] {
  const entries = entriesOf(subject.app.trustedOrigins ?? subject.variables.TRUSTED_ORIGINS ?? "");
  const parsed = entries.map((entry) => [entry, parseOrigins([entry])] as const);
  const invalid = parsed.find(([, origins]) => typeof origins === "string");
  const isPlain = ([, [origin]]: (typeof parsed)[number]) => origin!.startsWith("http:");
  const plain = invalid === undefined && subject.isProduction && isHttps(subject) ? parsed.find(isPlain) : undefined;
  const [entry] = invalid ?? plain ?? [];
  if (entry === undefined) return [];
  const to = entries.flatMap((one) =>
    one === entry ? (URL.parse(one)?.host ? [`https://${URL.parse(one)!.host}`] : []) : [one],
  );
  const remedy = literal(subject, "trustedOrigins", "TRUSTED_ORIGINS")
    ? { file: "config/app.ts", lines: ["// in APP:", `trustedOrigins: ${JSON.stringify(to)},`] }
    : { file: ".env", lines: [`TRUSTED_ORIGINS=${to.join(",")}`] };
  const problem =
    plain === undefined
      ? `TRUSTED_ORIGINS ${String(invalid![1])}`
      : `TRUSTED_ORIGINS contains "${entry}", which is not https: anyone on a visitor's network can change its pages.`;
  return [error("origins.invalid", { ...remedy, problem, note: "Write the address of each of your sites." })];
}

/** Reports whether a range is larger than one owner's proxies need, which is a /16, or a /48 for IPv6. */
function isWide(entry: string): boolean {
  if (entry === "private") return true;
  const [, address, length] = /^(.+)\/(\d+)$/.exec(entry) ?? [];
  if (address === undefined || /^127\.|^::1$/.test(address)) return false;
  return Number(length) < (address.includes(":") ? 48 : 16);
}

function isHttps({ app, variables }: Subject): boolean {
  return String(app.url ?? variables.APP_URL ?? "").startsWith("https:");
}

function hostFindings(subject: Subject, proxies: readonly string[]): Finding[] {
  const { server } = subject.app as { readonly server?: { readonly hostname?: unknown } };
  const host = String(server?.hostname ?? subject.variables.HOST ?? "");
  const isOnlyLocal = proxies.length > 0 && proxies.every((entry) => entry === "loopback" || /^127\.|^::1/.test(entry));
  const isEverywhere = host === "" || host === "0.0.0.0" || host === "::";
  if (!isOnlyLocal || !isEverywhere) return [];
  const problem =
    "The trusted proxy is on this machine, but the server listens on every address: clients can reach it without the " +
    "proxy, unencrypted.";
  const remedy =
    server?.hostname === undefined
      ? { file: ".env", lines: ["HOST=127.0.0.1"] }
      : { file: "config/app.ts", lines: ["// in APP.server:", 'hostname: "127.0.0.1",'] };
  return [warning("host.public", { ...remedy, problem })];
}
