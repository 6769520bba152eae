import { AUTHENTICATORS } from "../authenticators/index.ts";
import { declareFeature, type Feature, Provider } from "../boot/index.ts";
import { TWO_FACTOR_ERRORS } from "./errors.ts";
import { importOfApps } from "./factors/import-apps.ts";
import { RECOVERY_CODE } from "./factors/recovery-codes.ts";
import { TOTP, TOTP_SECRETS } from "./factors/totp.ts";
import { TRUSTED_DEVICE } from "./factors/trusted-devices.ts";
import { TWO_FACTOR_LIMITS } from "./limits.ts";
import { TWO_FACTOR_MESSAGES } from "./messages.ts";
import { RequestTwoFactor } from "./requests/request-two-factor.ts";
import { missingFactor } from "./requests/two-factor-middleware.ts";
import { SETUP_STEP, setupProof } from "./steps/setup-step.ts";
import { twoFactorProof } from "./steps/two-factor-step.ts";
import { factorOf, GRACE, TwoFactorService } from "./two-factor.ts";
import { TwoFactorChangedMail } from "./two-factor-mail.ts";
import { kindData } from "./user-data.ts";
import "./events.ts";
import "./limits.ts";
import "./messages.ts";
import "./requests/request-two-factor.ts";
import "./requests/two-factor-middleware.ts";
import "./two-factor.ts";
import "./two-factor-mail.ts";

/**
 * Adds two-factor authentication: codes of authenticator apps, recovery codes, trusted devices, and the step of logins that any
 * second factor passes. In `PROVIDERS`, list it after `AuthProvider`.
 */
export class TwoFactorProvider extends Provider {
  static override readonly feature: Feature = declareFeature({
    name: "two-factor",
    includes: [AUTHENTICATORS],
    errors: TWO_FACTOR_ERRORS,
    messages: { english: TWO_FACTOR_MESSAGES, translations: { de: () => import("./messages.de.ts") } },
    limits: TWO_FACTOR_LIMITS,
    services: { twoFactor: (application) => new TwoFactorService(application) },
    context: {
      twoFactor: (context, { container }) => new RequestTwoFactor(context, container.make("twoFactor")),
    },
    authenticators: {
      [TOTP]: {
        label: "two_factor.totp",
        page: "account.two_factor",
        factor: ({ container }) => factorOf(container.make("twoFactor").totp),
        import: ({ container }) => importOfApps(() => container.make("twoFactor")),
      },
      [RECOVERY_CODE]: {
        label: "two_factor.recovery_code",
        factor: ({ container }) => factorOf(container.make("twoFactor").recoveryCodes),
      },
      [TRUSTED_DEVICE]: { label: "two_factor.trusted_device", endsWithAccess: true },
      [GRACE]: {},
    },
    proofs: {
      two_factor: (application) => ({
        ...twoFactorProof(() => application.container.make("twoFactor")),
        data: kindData([TOTP, RECOVERY_CODE, TRUSTED_DEVICE, GRACE])(application),
      }),
      [SETUP_STEP]: ({ container }) => setupProof(() => container.make("twoFactor")),
    },
    doors: {
      two_factor: {
        about: "Someone whose login, or confirmation, waits for a second factor.",
        opens: "login",
        routes: ["two_factor.store"],
      },
      [SETUP_STEP]: {
        about: "Someone whose login waits until a second factor is set up.",
        opens: "login",
        routes: ["two_factor.setup.store"],
      },
    },
    events: {
      "two_factor.added": { audit: ({ factor }) => ({ factor }) },
      "two_factor.replaced": { audit: ({ factor }) => ({ factor }) },
      "two_factor.removed": { audit: ({ factor }) => ({ factor }) },
      "two_factor.codes_renewed": { audit: true },
      "two_factor.code_used": { audit: ({ left }) => ({ left }) },
      "two_factor.device_trusted": { audit: true },
    },
    accountEvents: {
      "two_factor.added": { label: "two_factor.event.added" },
      "two_factor.replaced": { label: "two_factor.event.replaced" },
      "two_factor.removed": { label: "two_factor.event.removed" },
      "two_factor.codes_renewed": { label: "two_factor.event.codesRenewed" },
      "two_factor.code_used": { label: "two_factor.event.codeUsed" },
      "two_factor.device_trusted": { label: "two_factor.event.deviceTrusted" },
    },
    accountMails: { twoFactorChanged: TwoFactorChangedMail },
    keyPurposes: [TOTP_SECRETS],
    routes: ["TwoFactor.routes"],
    commands: [
      {
        name: "two-factor:reset",
        description: "Turns off two-factor authentication for a user who has lost everything, and ends all access.",
        help: [
          "  <user>            a primary key, or the name or address that the user logs in with",
          "  --guard <name>    whose user it is, if several guards have different users",
          "  --by <name>       who runs the command, for the audit line; default: the user of the system and the machine",
          "  --reason <text>   why, for the audit line",
        ].join("\n"),
        load: () => import("./commands/two-factor-reset.ts"),
      },
    ],
    checks: [
      {
        name: "Two-factor authentication",
        findings: {
          "factors.table": "The table of authenticators is missing.",
        },
        load: () => import("./checks/check-two-factor.ts"),
      },
    ],
  });

  /** Now, so that a mistake in the settings fails startup. */
  override boot(): void {
    const { container } = this.application;
    const service = container.make("twoFactor");
    container.make("auth").addCondition((context, guard) => missingFactor(context, guard, service));
  }

  override async prune(signal?: AbortSignal): Promise<Readonly<Record<string, number>>> {
    const { container } = this.application;
    if (!container.has("database")) return {};
    const table = container.make("authenticators").table(TRUSTED_DEVICE);
    return { authenticators: await table.prune({ endedBefore: new Date(), ...(signal !== undefined && { signal }) }) };
  }
}
