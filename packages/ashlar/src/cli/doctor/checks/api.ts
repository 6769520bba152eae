import { type IssuingDriver, issuingDriversIn, JWTAuthenticationMiddleware } from "../../../api/index.ts";
import { isAuthenticatableClass, userClassOf } from "../../../auth/index.ts";
import { findModule } from "../../../boot/index.ts";
import { linesFor, linesForMixin } from "../../../scaffold/index.ts";
import { SessionMiddleware } from "../../../session/index.ts";
import { isPlainObject } from "../../../support/index.ts";
import { hasApi, isMadeBy, lackingProviders } from "../features.ts";
import { type Check, error, type Finding } from "../finding.ts";
import type { Subject } from "../subject.ts";

const INSTALL = "npx ashlar api:install";

/** The steps that set up API tokens, apart from the database. */
export const API: Check = {
  name: "API tokens",
  needsBoot: false,
  async run(subject: Subject): Promise<Finding[]> {
    if (!hasApi(subject)) return [];
    return [
      ...configFindings(subject),
      ...providerFindings(subject),
      ...kernelFindings(subject),
      ...(await modelFindings(subject)),
      ...endpointFindings(subject),
    ];
  },
};

function configFindings(subject: Subject): Finding[] {
  if (subject.failedSections.has("api")) return [];
  const { DRIVERS } = subject.sections.get("api") ?? {};
  if (isPlainObject(DRIVERS) && Object.values(DRIVERS).some(isPlainObject)) return [];
  const isThere = subject.sections.has("api");
  const problem = isThere ? "It doesn't export DRIVERS with an entry, such as jwt." : "config/api.ts is missing.";
  const lines = [
    'export const DRIVERS = { jwt: { secret: env("JWT_SECRET"), model: User, expires: 60, authenticates: true } };',
  ];
  return [error("api.config", { file: "config/api.ts", problem, ...(isThere ? { lines } : { run: INSTALL }) })];
}

function providerFindings(subject: Subject): Finding[] {
  if (subject.failedSections.has("providers")) return [];
  return lackingProviders(subject, "api").map(({ name }) => {
    const { file, lines } = linesFor("api", name);
    const problem = `${name} is not in PROVIDERS, so the application has no API tokens.`;
    return error("api.provider", { file, problem, lines });
  });
}

function kernelFindings(subject: Subject): Finding[] {
  const { bindings, routeMiddleware, root } = subject;
  if (bindings === null || routeMiddleware === null) return [];
  const findings: Finding[] = [];
  if (!bindings.has("routes.api.location")) {
    const { file, lines } = linesFor("api", "routes.api.location");
    const problem = "registerRoutes() doesn't bind routes.api.location, so the API's routes are not loaded.";
    // The prefix may be bound already.
    const missing = lines.filter((line) => !line.includes("routes.api.prefix") || !bindings.has("routes.api.prefix"));
    findings.push(error("api.location", { file, problem, lines: missing }));
  }
  const location = bindings.has("routes.api.location") ? bindings.make("routes.api.location") : "routes/api";
  if (findModule(root, location) === null) {
    const problem = `${location}.ts is missing, the file with the API's routes.`;
    const isDefault = location === "routes/api";
    const lines = ["export const ROUTES = [];"];
    findings.push(
      error("api.routes", { file: `${location}.ts`, problem, ...(isDefault ? { run: INSTALL } : { lines }) }),
    );
  }
  if (!subject.stackHas("api", JWTAuthenticationMiddleware)) {
    const { file, lines } = linesFor("api", "api");
    const problem = "The stack api has no JWTAuthenticationMiddleware, so the API's routes don't check tokens.";
    findings.push(error("api.stack", { file, problem, lines }));
  }
  if (subject.stackHas("api", SessionMiddleware)) {
    const problem =
      "The stack api has SessionMiddleware: API clients keep no cookies, and each request gets a new session.";
    const lines = ["// in routeMiddleware:", "api: [JWTAuthenticationMiddleware],"];
    findings.push(error("api.session", { file: "app/kernel.ts", problem, lines }));
  }
  return findings;
}

/** The application's drivers that issue tokens. */
export function issuingDriversOf(subject: Subject): readonly IssuingDriver[] {
  return issuingDriversIn(subject.settings("api", "DRIVERS"));
}

async function modelFindings(subject: Subject): Promise<Finding[]> {
  const findings = issuingDriversOf(subject).map((driver) => modelFindingsOf(subject, driver));
  return (await Promise.all(findings)).flat();
}

async function modelFindingsOf(subject: Subject, { model, hasMany }: IssuingDriver): Promise<Finding[]> {
  if (model === null) return [];
  const name = String(model.name ?? "The model");
  if (!isAuthenticatableClass(model)) return [await lacking(subject, name, "Authenticates")];
  if (hasMany) return [];
  const { prototype } = userClassOf(model) as { readonly prototype: Readonly<Record<string, unknown>> };
  const methods = [model.replaceToken, prototype.holdsToken, prototype.activateToken, prototype.revokeToken];
  const isComplete = methods.every((method) => typeof method === "function");
  return isComplete ? [] : [await lacking(subject, name, "AuthenticatesTokens")];
}

async function lacking({ root }: Subject, model: string, mixin: string): Promise<Finding> {
  const { file, lines } = await linesForMixin(root, "api", { name: mixin, model });
  const problem = `${model} doesn't have the mixin ${mixin}, so it can't hold tokens.`;
  return error("api.model", { file, problem, lines });
}

function endpointFindings(subject: Subject): Finding[] {
  const { boot } = subject;
  const drivers = Object.values(subject.settings("api", "DRIVERS"));
  // Other issuers have their own endpoints.
  if (drivers.length > 0 && drivers.every((one) => isPlainObject(one) && Object.hasOwn(one, "jwks"))) return [];
  if (boot.application === null || boot.application.router.routes.some((route) => isMadeBy(route, "Api.routes")))
    return [];
  const { file, lines } = linesFor("api", "Api.routes");
  const problem = "ROUTES doesn't have Api.routes(), so no client can get a token.";
  return [error("api.endpoints", { file, problem, lines })];
}
