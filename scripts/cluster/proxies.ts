import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../../packages/ashlar/test/support/free-port.ts";
import { until } from "./instances.ts";
import { type Program, startProgram } from "./programs.ts";

/** A proxy in front of two instances, as the manual configures it. */
export interface RunningProxy {
  readonly port: number;
  readonly program: Program;
}

const PAGE = join(import.meta.dirname, "../../docs/guides/deployment.md");

/** The manual's code block in the given language that contains a text. */
function fence(language: string, containing: string): string {
  const fences = readFileSync(PAGE, "utf8").matchAll(new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\`$`, "gm"));
  const found = [...fences].map(([, text]) => text!).find((text) => text.includes(containing));
  if (found === undefined) throw new Error(`${PAGE} has no fence in ${language} with ${containing}`);
  return found;
}

/** Replaces the manual's ports with those of two instances. */
const withPorts = (text: string, [one, two]: readonly [number, number]): string =>
  text.replaceAll(/:300([01])\b/g, (_, last: string) => `:${last === "0" ? one : two}`);

/**
 * The manual's `upstream` for two instances, and its server, without TLS and logs.
 */
export async function startNginx(folder: string, ports: readonly [number, number]): Promise<RunningProxy> {
  const port = await freePort();
  const configuration = withPorts(fence("nginx", "proxy_pass http://shop"), ports);
  const [upstream] = /^upstream [^}]*\}/m.exec(configuration)!;
  const [server] = /^server \{\n {2}listen 443 ssl;\n {2}#[\s\S]*?^\}/m.exec(configuration)!;
  const plain = server
    .replace("listen 443 ssl;", `listen 127.0.0.1:${port};`)
    .replaceAll(/^ *(?:ssl_certificate|access_log|error_log|server_name)\b.*\n/gm, "");
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  const text = `daemon off; pid ${folder}/nginx.pid; error_log ${folder}/nginx-errors.log; worker_processes 1;
events { worker_connections 20000; }
http {
access_log off; ${temporary.join(" ")}
${upstream}
${plain}
}
`;
  writeFileSync(join(folder, "nginx.conf"), text);
  const program = startProgram("nginx", ["-p", folder, "-c", join(folder, "nginx.conf"), "-e", "stderr"], {
    cwd: folder,
  });
  return await responding({ port, program });
}

/** The manual's configuration for HAProxy, without TLS. */
export async function startHaproxy(folder: string, ports: readonly [number, number]): Promise<RunningProxy> {
  const port = await freePort();
  const text = withPorts(fence("haproxy", "backend shop"), ports)
    .replace("bind :80\n", `bind 127.0.0.1:${port}\n`)
    .replace(/^ *bind :443 .*\n/m, "")
    .replace(/^ *http-request (?:redirect|reject) .*\n/gm, "")
    .replace(/^ *(?:user|group|log|option httplog)\b.*\n/gm, "")
    .replace("X-Forwarded-Proto https", "X-Forwarded-Proto http");
  writeFileSync(join(folder, "haproxy.cfg"), text);
  const program = startProgram("haproxy", ["-db", "-f", join(folder, "haproxy.cfg")], { cwd: folder });
  return await responding({ port, program });
}

async function responding(proxy: RunningProxy): Promise<RunningProxy> {
  const isUp = () =>
    fetch(`http://127.0.0.1:${proxy.port}/up`).then(
      ({ ok }) => ok,
      () => false,
    );
  await until(isUp, () => proxy.program.output());
  return proxy;
}
