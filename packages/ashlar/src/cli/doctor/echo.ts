import { reasonOf } from "../../support/index.ts";
import type { Finding } from "./finding.ts";

/** Startup errors that are caused by a missing provider that they don't name. */
const BROUGHT: Readonly<Record<string, string>> = {
  ApiProvider: 'no guard driver is named "jwt".',
  AuthProvider: 'no guard driver is named "web".',
  ThrottleProvider: 'Nothing is bound to "throttle".',
};

const APP_SETTINGS: Readonly<Record<string, string>> = {
  APP_PREVIOUS_KEYS: "previousKeys",
  TRUSTED_PROXIES: "trustedProxies",
  TRUSTED_ORIGINS: "trustedOrigins",
};

/** A part of the startup error that a finding is about. */
const SAID: Readonly<Record<string, (problem: string) => readonly string[]>> = {
  "secret.missing": (problem) =>
    nameIn(problem) === "APP_KEY" ? ["APP_KEY: is not set"] : [`${driverIn(problem)}.secret: is missing.`],
  "secret.weak": (problem) =>
    nameIn(problem) === "APP_KEY" ? ["APP_KEY: the secret "] : [`${driverIn(problem)}.secret: The secret for `],
  "secret.previous": (problem) => placesOf(problem).map((place) => `${place}, entry `),
  "key.family": (problem) => {
    const [, reason = ""] = /^.+? of DRIVERS\.\S+\. (.+)$/.exec(problem) ?? [];
    return ["secret", "nextSecret"].map((name) => `${driverIn(problem)}.${name}: ${reason}`);
  },
  "url.missing": () => ["APP_URL: is not set"],
  "url.invalid": () => ["which is not the address of a site."],
  "proxies.invalid": refusedEntry,
  "origins.invalid": refusedEntry,
  "mail.sender": () => ["config/mail.ts: MAIL: needs "],
  "api.config": () => ["config/api.ts: DRIVERS.jwt: is missing.", "config/api.ts: does not export DRIVERS "],
  "api.routes": (problem) => [`${nameIn(problem)}: does not exist`],
  "api.stack": () => ['routeMiddleware has no stack "api"'],
  "api.provider": missingProvider,
  "api.model": missingMixin,
  "pages.provider": missingProvider,
  "pages.stack": () => ['routeMiddleware has no stack "web"'],
  "pages.middleware": (problem) => [`the middleware ${/"[^"]+"/.exec(problem)} is unknown.`],
  "pages.model": missingMixin,
  "pages.guard": (problem) => (problem.endsWith("the default.") ? ["GUARDS.default: is missing."] : []),
  "limits.provider": missingProvider,
};

/**
 * Reports whether findings cover a startup error, which means that each of its lines has the same subject as a finding.
 *
 * @param thrown the error that failed startup
 */
export function isEcho(thrown: unknown, findings: readonly Finding[]): boolean {
  const errors = findings.filter(({ severity, id }) => severity === "error" && id !== "boot.failed");
  const text = withoutLoad(reasonOf(thrown));
  if (errors.some(({ problem }) => withoutLoad(problem) === text)) return true;
  const said = errors.flatMap(({ id, problem }) => SAID[id]?.(problem) ?? []);
  const lines = thrown instanceof Error ? thrown.message.split("\n") : [text];
  return lines.every((line) => said.some((part) => line.includes(part)));
}

/** A configuration file is loaded by both the doctor and startup, under different module URLs. */
function withoutLoad(text: string): string {
  return text.replaceAll(/\?load=\d+/g, "");
}

/** The variable, file or class that a problem begins with. */
function nameIn(problem: string): string {
  return /^[\w./-]+/.exec(problem)?.[0] ?? "";
}

/** A secret's driver. Problems name the driver unless it uses `JWT_SECRET`. */
function driverIn(problem: string): string {
  return /\bDRIVERS\.[\w-]+/.exec(problem)?.[0] ?? "DRIVERS.jwt";
}

/** A variable, and the setting that replaces it. */
function placesOf(problem: string): readonly string[] {
  const name = nameIn(problem);
  return [`Environment variable ${name}`, `config/app.ts: APP.${APP_SETTINGS[name]}`];
}

function refusedEntry(problem: string): readonly string[] {
  const [, refusal = ""] = /^\w+ (\w+ "[^"]*"|.+)/.exec(problem) ?? [];
  return placesOf(problem).map((place) => `${place}: ${refusal}`);
}

function missingProvider(problem: string): readonly string[] {
  const name = nameIn(problem);
  const brought = BROUGHT[name];
  return [`Add ${name} to `, `List ${name} in `, `${name} is missing.`, ...(brought === undefined ? [] : [brought])];
}

function missingMixin(problem: string): readonly string[] {
  const [, model, mixin] = /^(\S+) doesn't have the mixin (\w+)/.exec(problem) ?? [];
  return [`${model} lacks what the mixin ${mixin} adds.`];
}
