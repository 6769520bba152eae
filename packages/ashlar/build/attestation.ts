import type { Plugin } from "rolldown";

/**
 * The modules of @simplewebauthn/server that verify who made an authenticator. Passkeys ask for no attestation and drop
 * any that comes unasked, so these modules never run; most of the package and its dependencies is only for them.
 */
const ATTESTATION =
  /@simplewebauthn[\\/]server[\\/]esm[\\/](?:metadata|registration[\\/]verifications|services[\\/](?:defaultRootCerts|metadataService)|helpers[\\/](?:convertX509PublicKeyToCOSE|convertCertBufferToPEM|getCertificateInfo|isCertRevoked|validateCertificatePath|validateExtFIDOGenCEAAGUID))/;
const EXPORTED = /^export (?:async function|function|const|class) (\w+)/gm;

/** Leaves the verification of attestations out of the bundle. */
export function withoutAttestation(): Plugin {
  return {
    name: "without-attestation",
    resolveId: {
      filter: { id: /^@peculiar\/asn1-ecc$/ },
      handler(_, importer) {
        // A signature is all that is read; the rest is about keys in certificates.
        return this.resolve("@peculiar/asn1-ecc/build/es2015/ec_signature_value.js", importer, { skipSelf: true });
      },
    },
    transform: {
      filter: { id: ATTESTATION },
      handler: (code) => {
        const names = [...code.matchAll(EXPORTED)].map(([, name]) => name);
        const stubs = names.map((name) => `export const ${name} = left;`);
        return `const left = () => { throw new Error("The bundle does not verify attestations."); };\n${stubs.join("\n")}`;
      },
    },
  };
}
