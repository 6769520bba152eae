import { renderSVG } from "uqr";
import { DIGITS, PERIOD_SECONDS } from "./one-time-codes.ts";

/** The width of the QR code on a page, which style sheets may change. */
const SIZE = 240;

/** What users need to add a secret to their app. */
export interface Enrolment {
  /** The secret in base32, for users who type it. */
  readonly secret: string;
  /** The same in groups of four, which are easier to read. */
  readonly groupedSecret: string;
  /** The address that apps read from a QR code, and that opens an app on the same device. */
  readonly uri: string;
  /** The QR code, as an SVG element without styles or scripts. */
  readonly qr: string;
}

/**
 * What users need to add a secret to their app.
 *
 * @param issuer the name of the application, which the app shows
 * @param account what the user knows the account by, such as an address
 */
export function enrolmentOf(secret: string, issuer: string, account: string): Enrolment {
  // A colon separates the two.
  const [by = "", label = ""] = [issuer, account].map((part) => encodeURIComponent(part.replaceAll(":", " ")));
  const parameters = `secret=${secret}&issuer=${by}&algorithm=SHA1&digits=${DIGITS}&period=${PERIOD_SECONDS}`;
  const uri = `otpauth://totp/${by}:${label}?${parameters}`;
  const groupedSecret = secret.replaceAll(/.{4}(?=.)/g, "$& ");
  const qr = renderSVG(uri, { border: 4 }).replace("<svg", `<svg width="${SIZE}" height="${SIZE}"`);
  return { secret, groupedSecret, uri, qr };
}
