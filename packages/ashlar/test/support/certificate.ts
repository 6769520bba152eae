import { execFileSync } from "node:child_process";
import { join } from "node:path";

/** The files of a certificate. */
export interface CertificateFiles {
  readonly key: string;
  readonly chain: string;
}

/** Creates a self-signed certificate for a host, in a folder. */
export function makeCertificate(folder: string, host: string): CertificateFiles {
  const [key, chain] = [join(folder, "key.pem"), join(folder, "chain.pem")];
  const subject = ["-subj", `/CN=${host}`, "-addext", `subjectAltName=DNS:${host}`];
  const kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
  execFileSync("openssl", ["req", ...kind, ...subject, "-keyout", key, "-out", chain], { stdio: "ignore" });
  return { key, chain };
}
