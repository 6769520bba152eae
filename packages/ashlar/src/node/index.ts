export {
  isNodeResponse,
  type NodeExchange,
  nodeExchange,
  type PreparedResponse,
  parsedUrl,
  pendingResponse,
  preparedByNode,
  takenBytes,
  unblockStandardStream,
} from "./private-members.ts";
