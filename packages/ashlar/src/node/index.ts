export {
  isNodeResponse,
  type NodeParts,
  nodeParts,
  type PreparedResponse,
  parsedUrl,
  pendingResponse,
  preparedByNode,
  takenBytes,
  unblockStandardOutput,
} from "./private-members.ts";
