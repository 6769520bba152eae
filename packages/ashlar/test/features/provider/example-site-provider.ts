import { join } from "node:path";
import { type Application, declareFeature, type Feature, Provider } from "ashlar";
import type {} from "ashlar/auth";
import type {} from "ashlar/database";
import { declareKeyPurpose, Signer } from "ashlar/security";
import type {} from "ashlar/session";
import type {} from "ashlar/throttle";
import type {} from "ashlar/views";
import { EXAMPLE_SITE_ERRORS } from "./errors.ts";
import { ExampleSite } from "./example-site.ts";
import { Identities } from "./identities.ts";
import { identityProof } from "./identity-proof.ts";
import { MESSAGES } from "./messages.ts";
import { Visits } from "./visits.ts";

const STATE = declareKeyPurpose("example-site-state");

declare module "ashlar" {
  interface HttpContext {
    /** The accounts that users have at example-site. */
    readonly identities: Identities;
  }
  interface Services {
    /** The accounts that users have at example-site. */
    identities: Identities;
  }
}

declare module "ashlar/throttle" {
  interface Limits {
    "example-site": true;
  }
}

/** Adds logins by an account at another site. */
export class ExampleSiteProvider extends Provider {
  static override readonly feature: Feature = declareFeature({
    name: "example-site",
    errors: EXAMPLE_SITE_ERRORS,
    messages: { english: MESSAGES },
    services: { identities: createIdentities },
    context: { identities: (_context, { container }) => container.make("identities") },
    proofs: { "example-site": ({ container }) => identityProof(() => container.make("identities")) },
    limits: { "example-site": { buckets: [{ by: ["address"], attempts: 30, windowSeconds: 900 }] } },
    keyPurposes: [STATE],
    tables: { identities: { columns: ["subject", "email"], pruned: null, installedBy: "example-site:install" } },
    views: { "example-site": join(import.meta.dirname, "views") },
    routes: ["ExampleSiteController.routes"],
    commands: [
      {
        name: "example-site:install",
        description: "Adds the configuration, the table and the pages of accounts at example-site.",
        load: () => import("./install-command.ts"),
      },
    ],
  });

  /** The guards are known now, and a mistake in the settings fails startup. */
  override ready(): void {
    this.application.container.make("identities");
  }
}

function createIdentities(application: Application): Identities {
  const { config, container, settings } = application;
  const guards = container.make("auth");
  const guard = guards.defaultName;
  const visits = new Visits(new Signer(settings.key, STATE, { previousSecrets: settings.previousKeys }));
  const callback = () => `${application.url}${application.router.to("example-site.callback")}`;
  const site = new ExampleSite(config, callback);
  const parts = { guard, users: guards.usersOf(guard), site, visits };
  return new Identities({ database: container.make("database"), ...parts });
}
