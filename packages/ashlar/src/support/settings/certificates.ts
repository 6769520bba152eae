import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { ConfigurationError } from "../errors.ts";

/** The location of a setting: the folder that its path is relative to, and its name in errors. */
export interface PemPlace {
  /** The folder that the path is relative to. */
  readonly root: string;
  /** The setting: `config/mail.ts: MAIL.smtp.ca`. */
  readonly where: string;
}

/**
 * Reads a setting with certificates or a key: the path of a PEM file, or PEM text, which some platforms put into
 * variables.
 *
 * @throws `E_INVALID_CONFIGURATION` if the file can't be read, or contains nothing of this kind
 */
export function readPem(value: string, kind: "certificate" | "private key", { root, where }: PemPlace): string {
  const isText = value.includes("-----BEGIN ");
  const pem = isText ? value : readText(resolve(root, value), where, kind);
  const found = kind === "certificate" ? /-----BEGIN CERTIFICATE-----/ : /-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----/;
  if (found.test(pem)) return pem;
  // If the file contains no certificate, Node.js would trust none, and every connection would fail.
  const problem = `is ${isText ? "PEM" : "a file"} without a ${kind}.`;
  throw new ConfigurationError(where, problem, "Name a file in PEM form.");
}

function readText(path: string, where: string, kind: "certificate" | "private key"): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Security: instead of a path, the setting may contain a private key without its first line, so it isn't quoted.
    const remedy = kind === "certificate" ? `Correct its path: ${path}` : "Correct its path.";
    throw new ConfigurationError(where, `is a file that can't be read (${code}).`, remedy);
  }
}

/** The codes of OpenSSL and Node.js for a certificate whose authority is not the expected one. */
const UNTRUSTED: ReadonlySet<unknown> = new Set([
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  // An authority with the same name but another key.
  "CERT_SIGNATURE_FAILURE",
]);

/**
 * The problem with a server's certificate, either its authority or its name; `null` if the error is about something
 * else.
 */
export function certificateProblem(error: unknown): "authority" | "name" | null {
  const { code, cause, message = "", reason = "" } = Object(error) as Failure;
  const codes = [code, Object(cause).code];
  if (codes.some((one) => UNTRUSTED.has(one))) return "authority";
  if (/self-signed certificate|unable to (?:get|verify)|certificate signature failure/.test(message))
    return "authority";
  return codes.includes("ERR_TLS_CERT_ALTNAME_INVALID") || /altnames/.test(`${message} ${reason}`) ? "name" : null;
}

/**
 * A sentence that says what to set if a server's certificate was rejected, with a leading space; `""` for any other
 * error.
 *
 * @param where the settings that `ca` belongs to
 * @param name the setting that names the certificate's host, if there is one
 */
export function certificateRemedy(error: unknown, where: string, name: string | null = "servername"): string {
  const problem = certificateProblem(error);
  if (problem === "authority") {
    const isSet = "If it is set, it names another one.";
    return ` Set ${where}.ca to the file of the authority that has signed the server's certificate. ${isSet}`;
  }
  return problem === null || name === null ? "" : ` Set ${where}.${name} to a name in the server's certificate.`;
}

interface Failure {
  readonly code?: unknown;
  readonly cause?: unknown;
  readonly message?: string;
  readonly reason?: unknown;
}
