import { ApiProvider } from "../../api/index.ts";
import { userClassOf, VerifiesEmailMiddleware } from "../../auth/index.ts";
import { type InstalledFeature, installedFeatures, type ProviderClass } from "../../boot/index.ts";
import { MailProvider } from "../../mail/index.ts";
import type { CompiledRoute } from "../../routing/index.ts";
import { type Feature as InstalledPart, providersFor } from "../../scaffold/index.ts";
import { SessionProvider } from "../../session/index.ts";
import { ThrottleProvider } from "../../throttle/index.ts";
import type { Subject } from "./subject.ts";

/** An application's features, as far as its providers are known. */
export function featuresOf({ providers }: Subject): readonly InstalledFeature[] {
  return installedFeatures(providers.filter((one): one is ProviderClass => typeof one === "function"));
}

/** The providers that a feature needs and the application lacks. `ThrottleProvider` has a separate finding. */
export function lackingProviders(subject: Subject, feature: InstalledPart): readonly ProviderClass[] {
  return providersFor(feature).filter((one) => one !== ThrottleProvider && !subject.hasProvider(one));
}

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

/** Reports whether an application's accounts are for a front end, because `ashlar auth --json` creates no views. */
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
 * Reports whether an application verifies addresses, because its users' model does, or because something requires it.
 * This is the author's choice. The stack `verified` in the kernel isn't a sign, because only routes use it, and neither
 * are the routes `email.verify`, because changes of address need them.
 */
export function usesVerification(subject: Subject): boolean {
  return (
    requiresVerification(subject) ||
    Object.values(subject.settings("auth", "GUARDS")).some((guard) => verifiesAddresses(Object(guard).model))
  );
}

/** Reports whether something in an application blocks users or requests unless users verify their address. */
export function requiresVerification(subject: Subject): boolean {
  const { boot } = subject;
  return (
    // A route may name middleware that the kernel lacks.
    /the middleware "verified" is unknown/.test(String(boot.error)) ||
    (boot.application?.router.routes ?? []).some(({ middleware }) =>
      middleware.some((text) => subject.stackHas(nameOf(text), VerifiesEmailMiddleware)),
    ) ||
    subject.settings("auth", "ACCOUNTS").preventEnumeration === true
  );
}

/** Reports whether a route was created by one of a feature's functions, or has the handler of such a route. */
export function isMadeBy({ mark }: CompiledRoute, name: string): boolean {
  return mark?.madeBy === name;
}

/** The name without arguments of a middleware in a route: `throttle` for `throttle:login`. */
export function nameOf(text: string): string {
  const colon = text.indexOf(":");
  return colon === -1 ? text : text.slice(0, colon);
}

/** Reports whether the users of a class, or of an object, verify their address. */
export function verifiesAddresses(users: unknown): boolean {
  const { prototype } = userClassOf(Object(users)) as { readonly prototype?: Readonly<Record<string, unknown>> };
  return typeof prototype?.hasVerifiedEmail === "function";
}
