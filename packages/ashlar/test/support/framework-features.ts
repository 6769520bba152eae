import { ApiProvider } from "../../src/api/index.ts";
import { AuthProvider } from "../../src/auth/index.ts";
import { type InstalledFeature, installedFeatures, type ProviderClass } from "../../src/boot/index.ts";
import { FINDINGS } from "../../src/cli/doctor/finding.ts";
import { DatabaseProvider } from "../../src/database/index.ts";
import { EventProvider } from "../../src/events/index.ts";
import { LoginLinksProvider } from "../../src/login-links/index.ts";
import { MailProvider } from "../../src/mail/index.ts";
import { MetricsProvider } from "../../src/metrics/index.ts";
import { PasskeysProvider } from "../../src/passkeys/index.ts";
import { SessionProvider } from "../../src/session/index.ts";
import { TelemetryProvider } from "../../src/telemetry/index.ts";
import { ThrottleProvider } from "../../src/throttle/index.ts";
import { TwoFactorProvider } from "../../src/two-factor/index.ts";
import { ViewProvider } from "../../src/views/index.ts";

/** The framework's own providers, in the order in which an application lists them. */
export const FRAMEWORK_PROVIDERS: readonly ProviderClass[] = [
  ...[DatabaseProvider, EventProvider, ViewProvider, SessionProvider, ThrottleProvider, MailProvider, AuthProvider],
  ...[ApiProvider, LoginLinksProvider, PasskeysProvider, TwoFactorProvider, MetricsProvider, TelemetryProvider],
];

/** All features of the framework. */
export const FRAMEWORK_FEATURES: readonly InstalledFeature[] = installedFeatures(FRAMEWORK_PROVIDERS);

/** Everything that `ashlar doctor` can find, with its meaning: the doctor's own findings, then those of features. */
export const ALL_FINDINGS: Readonly<Record<string, string>> = Object.assign(
  { ...FINDINGS },
  ...FRAMEWORK_FEATURES.flatMap(({ feature }) => (feature.checks ?? []).map(({ findings }) => findings)),
);
