import { join } from "node:path";
import { declareFeature, declareSecretNames, type Feature, Provider } from "ashlar";
import type {} from "ashlar/auth";
import type {} from "ashlar/throttle";
import type {} from "ashlar/views";
import { InvitationAcceptedMail } from "./invitation-accepted-mail.ts";
import { INVITATION, Invitations } from "./invitations.ts";

declareSecretNames("invitation_code");

declare module "ashlar/throttle" {
  interface Limits {
    invitations: true;
  }
}

declare module "ashlar" {
  interface HttpContext {
    /** Sends invitations by mail. */
    readonly invitations: Invitations;
  }
}

/** Adds invitations to an application. */
export class InvitationsProvider extends Provider {
  static override readonly feature: Feature = declareFeature({
    name: "invitations",
    services: { invitations: (application) => new Invitations(application) },
    context: { invitations: (_context, { container }) => container.make("invitations") },
    limits: { invitations: { buckets: [{ by: ["address"], attempts: 2, windowSeconds: 3600 }] } },
    events: { "invitation.accepted": { audit: false } },
    accountMails: { invitationAccepted: InvitationAcceptedMail },
    keyPurposes: [INVITATION],
    views: { invitations: join(import.meta.dirname, "views") },
    routes: ["InvitationsController.routes"],
    commands: [
      {
        name: "invitations:install",
        description: "Adds the configuration and the table of invitations.",
        load: () => import("./install-command.ts"),
      },
      {
        name: "invitations:url",
        description: "Prints the address that invitations lead to.",
        load: () => import("./url-command.ts"),
      },
    ],
    checks: [
      {
        name: "Invitations",
        findings: {
          "invitations.lifetime": "Invitations are valid for more than a month.",
          "invitations.table": "The table of invitations is missing.",
          "invitations.limit": "The route that sends invitations has no limit.",
        },
        load: () => import("./doctor-check.ts"),
      },
    ],
  });

  /** Now, so that a mistake in the settings fails startup. */
  override boot(): void {
    this.application.container.make("invitations");
  }
}
