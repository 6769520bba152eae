import type { AuditLog } from "../events/index.ts";
import "./access/end-access.ts";
import "./accounts/events.ts";
import "./events.ts";

/**
 * Adds the events about users to the application's audit log. Addresses of mails are left out: the user's key
 * identifies the user.
 */
export function auditUsers(audit: AuditLog): void {
  audit.add("auth.login", ({ by }) => ({ ...(by.length > 0 && { by: by.join(" ") }) }));
  audit.add("auth.failed", ({ by, identifier }) => ({ ...(by !== null && { by }), ...audit.typed(identifier) }));
  audit.add("auth.pending", ({ step }) => ({ step }));
  audit.add("auth.logout");
  audit.add("auth.access_ended", ({ what, reason }) => ({ what, reason }));
  audit.add("auth.logins_ended", ({ count, reason }) => ({ count, reason }));
  audit.add("auth.new_device", ({ device }) => ({ device }));
  audit.add("auth.registered");
  audit.add("auth.verification_sent");
  audit.add("auth.email_verified");
  audit.add("auth.email_change_requested");
  audit.add("auth.email_changed");
  audit.add("auth.email_change_undone");
  audit.add("auth.guesses_used_up");
  audit.add("auth.device_allowed");
  audit.add("auth.password_reset_requested", ({ email }) => audit.typed(email));
  audit.add("auth.password_reset");
  audit.add("auth.password_changed");
  audit.add("auth.blocked", ({ by, reason }) => ({ by, reason }));
  audit.add("auth.command", ({ command, by, reason, identifier, found, limit, clientAddress, cleared }) => ({
    command,
    by,
    ...(reason !== null && { reason }),
    ...audit.typed(identifier),
    ...(found !== null && { found }),
    ...(limit !== null && { limit }),
    ...audit.addressed("clientAddress", clientAddress),
    ...(cleared !== null && { cleared }),
  }));
  audit.add("auth.unblocked", ({ by, reason }) => ({ by, reason }));
}
