import { ApiProvider } from "../../api/index.ts";
import { userClassOf, VerifiesEmailMiddleware } from "../../auth/index.ts";
import { MailProvider } from "../../mail/index.ts";
import { SessionProvider } from "../../session/index.ts";
import type { Subject } from "./subject.ts";

/** Reports whether an application has any sign of API tokens. */
export function hasApi(subject: Subject): boolean {
  return (
    subject.hasProvider(ApiProvider) ||
    subject.sections.has("api") ||
    subject.failedSections.has("api") ||
    ["config/api.ts", "config/api.js", "routes/api.ts", "routes/api.js"].some((file) => subject.hasFile(file)) ||
    Object.hasOwn(subject.variables, "JWT_SECRET") ||
    subject.bindings?.has("routes.api.location") === true ||
    (subject.routeMiddleware?.api ?? []).length > 0
  );
}

/** Reports whether an application's accounts are for a front end: `ashlar auth --json` writes no views. */
export function hasOnlyJson(subject: Subject): boolean {
  return subject.hasFile("app/controllers/auth") && !subject.hasFile("views/auth");
}

/** Reports whether an application has any sign of the account pages that `ashlar auth` installs. */
export function hasPages(subject: Subject): boolean {
  return (
    subject.hasFile("app/controllers/auth") ||
    (subject.hasProvider(MailProvider) && subject.hasProvider(SessionProvider) && subject.hasFile("views/auth"))
  );
}

/**
 * Reports whether an application has any sign of verified addresses. Its author may do without: then the generator names
 * them neither in the kernel nor in the model. The routes `email.verify` are no sign, because changes of address need them.
 */
export function usesVerification(subject: Subject): boolean {
  const { boot, routeMiddleware } = subject;
  const stacks = Object.keys(routeMiddleware ?? {});
  return (
    stacks.includes("verified") ||
    stacks.some((stack) => subject.stackHas(stack, VerifiesEmailMiddleware)) ||
    // A route names what the kernel doesn't.
    /the middleware "verified" is unknown/.test(String(boot.error)) ||
    subject.settings("auth", "ACCOUNTS").preventEnumeration === true ||
    Object.values(subject.settings("auth", "GUARDS")).some((guard) => verifiesAddresses(Object(guard).model))
  );
}

/** Reports whether the users that a class, or an object, finds verify their address. */
export function verifiesAddresses(users: unknown): boolean {
  const { prototype } = userClassOf(Object(users)) as { readonly prototype?: Readonly<Record<string, unknown>> };
  return typeof prototype?.hasVerifiedEmail === "function";
}
