import {
  AuthenticationMiddleware,
  AuthPageMiddleware,
  ConfirmPasswordMiddleware,
  isAuthenticatableClass,
  LoadUserMiddleware,
  VerifiesEmailMiddleware,
} from "../../../auth/index.ts";
import { SecurityHeadersMiddleware } from "../../../http/index.ts";
import type { Container } from "../../../kernel/index.ts";
import { linesFor, linesForMixin } from "../../../scaffold/index.ts";
import { SessionMiddleware, VerifyCsrfToken } from "../../../session/index.ts";
import { isPlainObject } from "../../../support/index.ts";
import { ThrottleMiddleware } from "../../../throttle/index.ts";
import {
  hasOnlyJson,
  hasPages,
  isMadeBy,
  lackingProviders,
  requiresVerification,
  usesVerification,
  verifiesAddresses,
} from "../features.ts";
import { type Check, error, type Finding, type FindingId } from "../finding.ts";
import type { Subject } from "../subject.ts";

const WEB = [
  ["SecurityHeadersMiddleware", SecurityHeadersMiddleware],
  ["SessionMiddleware", SessionMiddleware],
  ["LoadUserMiddleware", LoadUserMiddleware],
  ["VerifyCsrfToken", VerifyCsrfToken],
] as const;

const NAMED = [
  ["auth", AuthenticationMiddleware],
  ["auth.page", AuthPageMiddleware],
  ["password.confirm", ConfirmPasswordMiddleware],
  ["confirm", ConfirmPasswordMiddleware],
  ["verified", VerifiesEmailMiddleware],
  ["throttle", ThrottleMiddleware],
] as const;

/** The account pages' setup by `ashlar auth`, apart from the database. */
export const PAGES: Check = {
  name: "Account pages",
  needsBoot: false,
  async run(subject: Subject): Promise<Finding[]> {
    if (!hasPages(subject)) return [];
    return [
      ...providerFindings(subject),
      ...kernelFindings(subject),
      ...(await guardFindings(subject)),
      ...routeFindings(subject),
    ];
  },
};

function hasLoginPage(container: Container, guard: string): boolean {
  const { pages } = container.make("auth");
  return ["login", "login.store"].some((page) => pages.has(guard, page));
}

function lacking(id: FindingId, adds: string, problem: string): Finding {
  const { file, lines } = linesFor("pages", adds);
  return error(id, { file, problem, lines });
}

function providerFindings(subject: Subject): Finding[] {
  if (subject.failedSections.has("providers")) return [];
  return lackingProviders(subject, hasOnlyJson(subject) ? "json" : "pages").map(({ name }) =>
    lacking("pages.provider", name, `${name} is not in PROVIDERS, and the account pages need it.`),
  );
}

function kernelFindings(subject: Subject): Finding[] {
  if (subject.routeMiddleware === null) return [];
  const missing = WEB.filter(([, middleware]) => !subject.stackHas("web", middleware)).map(([name]) => name);
  const stack =
    missing.length === 0 ? [] : [lacking("pages.stack", "web", `The stack web lacks ${missing.join(" and ")}.`)];
  const needed = usesVerification(subject) ? NAMED : NAMED.filter(([name]) => name !== "verified");
  const named = needed.filter(([name, middleware]) => !subject.stackHas(name, middleware));
  return [...stack, ...named.map(([name]) => lacking("pages.middleware", name, `routeMiddleware has no "${name}".`))];
}

async function guardFindings(subject: Subject): Promise<Finding[]> {
  const auth = subject.sections.get("auth");
  if (auth === undefined) return [];
  const guards = isPlainObject(auth.GUARDS) ? auth.GUARDS : {};
  const entries = Object.entries(guards).filter(([, entry]) => isPlainObject(entry));
  const web = entries.find(([name, entry]) => ((entry as { driver?: unknown }).driver ?? name) === "web");
  if (web === undefined) return [lacking("pages.guard", "GUARDS.web", "GUARDS has no guard with the driver web.")];
  const findings: Finding[] = [];
  if (entries.length > 1 && typeof guards.default !== "string") {
    findings.push(lacking("pages.guard", "GUARDS.default", "GUARDS doesn't say which guard is the default."));
  }
  if (!isPlainObject(auth.ACCOUNTS) || !isPlainObject(auth.ACCOUNTS.mailables)) {
    findings.push(lackingMailables(isPlainObject(auth.ACCOUNTS)));
  }
  const { model } = web[1] as { readonly model?: unknown };
  return [...findings, ...(await modelFindings(subject, model))];
}

/** @param hasAccounts whether `ACCOUNTS` has other settings */
function lackingMailables(hasAccounts: boolean): Finding {
  const finding = lacking("pages.mailables", "ACCOUNTS", "ACCOUNTS.mailables is missing, so no mail can be sent.");
  if (!hasAccounts) return finding;
  const all = finding.remedy.lines;
  const mails = all.filter((line) => /^ {4}\w+: \w+,$/.test(line)).map((line) => line.trim());
  const lines = [
    ...all.filter((line) => line.startsWith("import ")),
    "// in ACCOUNTS:",
    `mailables: { ${mails.join(" ")} },`,
  ];
  return { ...finding, remedy: { ...finding.remedy, lines } };
}

async function modelFindings(subject: Subject, model: unknown): Promise<Finding[]> {
  if (typeof model !== "function") return [];
  if (!isAuthenticatableClass(model)) return [await lackingMixin(subject, model.name, "Authenticates")];
  // Verification is the author's choice unless something doesn't work without it.
  if (verifiesAddresses(model) || !requiresVerification(subject)) return [];
  return [await lackingMixin(subject, model.name, "MustVerifyEmail")];
}

async function lackingMixin({ root }: Subject, model: string, mixin: string): Promise<Finding> {
  const { file, lines } = await linesForMixin(root, "pages", { name: mixin, model });
  return error("pages.model", { file, problem: `${model} doesn't have the mixin ${mixin}.`, lines });
}

function routeFindings({ boot }: Subject): Finding[] {
  const { container, router } = boot.application ?? {};
  if (container === undefined || router!.routes.some((route) => isMadeBy(route, "Auth.routes"))) return [];
  // Pages written by the author are found by way of the guards, which send guests to them.
  if (container.has("auth") && container.make("auth").names.some((guard) => hasLoginPage(container, guard))) return [];
  return [lacking("pages.routes", "Auth.routes", "ROUTES doesn't have Auth.routes(), so there is no page to log in.")];
}
